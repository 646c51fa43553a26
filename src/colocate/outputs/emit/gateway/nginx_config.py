"""A config of nginx: a path for each model, over all of its replicas.

nginx cannot see which model a request names, so the path says it. Only the OpenAI API is forwarded:
what puts engines to sleep, and the rest of their development endpoints, stays behind.
"""

from collections.abc import Mapping, Sequence

from colocate.outputs.emit.gateway.endpoints import API, Endpoint
from colocate.outputs.emit.gateway_settings import LAST_PORT, bracketed
from colocate.outputs.emit.settings import EmitSettings
from colocate.outputs.emit.targets.file_head import comment_lines

HEAD = """\
worker_processes auto;
worker_rlimit_nofile 16384;
pid nginx.pid;
error_log stderr warn;

events {
    worker_connections 4096;
}

http {
    access_log off;
    default_type application/json;
    server_tokens off;
    client_max_body_size 256m;
    client_body_temp_path nginx-body;
    proxy_temp_path nginx-proxy;
    fastcgi_temp_path nginx-fastcgi;
    uwsgi_temp_path nginx-uwsgi;
    scgi_temp_path nginx-scgi;

    # Engines close an idle connection after 5 s, so upstreams give it up before.
    # Answers are streamed as they are made, and may take long.
    proxy_buffering off;
    proxy_connect_timeout 5s;
    proxy_read_timeout 1h;
    proxy_send_timeout 1h;
    send_timeout 1h;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
"""
NOT_FOUND = '{"error": {"message": "no such model: see endpoints.json", "code": 404}}'
COMMENTS = (
    'nginx for a colocate plan: nginx -e stderr -p "$PWD" -c "$PWD/nginx.conf" -g "daemon off;" '
    "in the folder of this file, which keeps its temporary files there.",
    "Clients ask for /NAME/v1/... and name the model in the request too; endpoints.json has both.",
    "nginx looks up the addresses of engines when it starts: they must be known where it runs. "
    "Reload it when they change.",
)


def nginx_conf(
    models: Mapping[str, Sequence[Endpoint]], names: Mapping[str, str], settings: EmitSettings
) -> str:
    """Return the config.

    Parameters
    ----------
    models
        The endpoints of each model that is awake.
    names
        The name of each model in a path: letters, digits and hyphens.
    settings
        Where it listens.
    """
    upstreams = [_upstream(names[model], endpoints) for model, endpoints in models.items()]
    locations = [_location(model, names[model], found[0]) for model, found in models.items()]
    listen = f"{bracketed(settings.host)}:{gateway_port(settings)}"
    parts = [
        comment_lines(COMMENTS) + HEAD,
        *upstreams,
        f"    server {{\n        listen {listen};\n",
        *locations,
        f"        location / {{\n            return 404 '{NOT_FOUND}';\n        }}\n    }}\n}}\n",
    ]
    return "\n".join(parts)


def gateway_port(settings: EmitSettings) -> int:
    """Return the port of nginx: by default the one below the first engine, which none has."""
    return settings.gateway.port or settings.base_port - 1 or LAST_PORT


def gateway_path(name: str) -> str:
    """Return the path of a model behind nginx."""
    return f"/{name}{API}"


def _upstream(name: str, endpoints: Sequence[Endpoint]) -> str:
    servers = "".join(
        f"        server {endpoint.address} max_fails=3 fail_timeout=10s;\n"
        for endpoint in endpoints
    )
    return (
        f"    upstream {name} {{\n        zone {name} 64k;\n        least_conn;\n{servers}"
        "        keepalive 32;\n        keepalive_timeout 4s;\n    }\n"
    )


def _location(model: str, name: str, endpoint: Endpoint) -> str:
    asked = "" if endpoint.asked == model else f", asked for as {endpoint.asked}"
    said = comment_lines([f"{model}{asked}"])
    return (
        f"        {said}        location {gateway_path(name)}/ {{\n"
        f"            proxy_pass http://{name}{API}/;\n        }}\n"
    )
