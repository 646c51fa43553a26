"""Engines that count by a law: what they print is a function of the time since they began."""

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic

TOKENS = {"prompt": 300.0, "output": 40.0}
TPOT, TTFT = 0.025, 0.3
"""Seconds."""


def sample(name, value, **labels):
    told = ",".join(f'{key}="{each}"' for key, each in labels.items())
    return f"{name}{{{told}}} {value!r}" if told else f"{name} {value!r}"


def histogram(name, total, count, **labels):
    buckets = [sample(f"{name}_bucket", count, le="+Inf", **labels)]
    return [
        *buckets,
        sample(f"{name}_sum", total, **labels),
        sample(f"{name}_count", count, **labels),
    ]


def vllm(model, rate, growing=0.0):
    """Requests end at a rate, and the queue grows by some a second."""

    def lines(age):
        done = float(int(rate * age))
        labels = {"model_name": model, "engine": "0"}
        tokens = TOKENS["output"] * done
        return [
            sample("vllm:request_success_total", done, finished_reason="stop", **labels),
            sample("vllm:request_success_total", 0.0, finished_reason="abort", **labels),
            sample("vllm:num_requests_running", 4.0, **labels),
            sample("vllm:num_requests_waiting", float(int(growing * age)), **labels),
            sample("vllm:kv_cache_usage_perc", 0.5, **labels),
            *histogram("vllm:request_prompt_tokens", TOKENS["prompt"] * done, done, **labels),
            *histogram("vllm:request_generation_tokens", tokens, done, **labels),
            *histogram("vllm:inter_token_latency_seconds", TPOT * tokens, tokens, **labels),
            *histogram("vllm:time_to_first_token_seconds", TTFT * done, done, **labels),
        ]

    return lines


def sglang(model, rate):
    def lines(age):
        done = float(int(rate * age))
        labels = {"model_name": model}
        tokens = TOKENS["output"] * done
        return [
            sample("sglang:num_requests_total", done, **labels),
            sample("sglang:prompt_tokens_total", TOKENS["prompt"] * done, **labels),
            sample("sglang:generation_tokens_total", tokens, **labels),
            sample("sglang:num_running_reqs", 0.0, tp_rank="0", **labels),
            sample("sglang:num_queue_reqs", 0.0, tp_rank="0", **labels),
            sample("sglang:token_usage", 0.125, tp_rank="0", **labels),
            *histogram("sglang:inter_token_latency_seconds", TPOT * tokens, tokens, **labels),
            *histogram("sglang:time_to_first_token_seconds", TTFT * done, done, **labels),
        ]

    return lines


def tgi(rate):
    """Metrics that do not name a model."""

    def lines(age):
        started = float(int(rate * age))
        return [
            sample("tgi_request_count", started),
            sample("tgi_request_success", started / 2),
            sample("tgi_batch_current_size", 1.0),
            sample("tgi_queue_size", started / 2),
            *histogram("tgi_request_input_length", TOKENS["prompt"] * started, started),
            *histogram("tgi_request_generated_tokens", TOKENS["output"] * started, started),
            *histogram("tgi_request_mean_time_per_token_duration", TPOT * started, started),
        ]

    return lines


def trtllm(model, rate):
    def lines(age):
        done = float(int(rate * age))
        labels = {"model_name": model, "engine_type": "trtllm"}
        tokens = TOKENS["output"] * done
        return [
            sample("trtllm_request_success_total", done, finished_reason="stop", **labels),
            sample("trtllm_num_requests_running", 2.0, **labels),
            sample("trtllm_num_requests_waiting", 0.0, **labels),
            sample("trtllm_prompt_tokens_total", TOKENS["prompt"] * done, **labels),
            sample("trtllm_generation_tokens_total", tokens, **labels),
            sample("trtllm_kv_cache_utilization", 0.25, **labels),
            *histogram("trtllm_time_per_output_token_seconds", TPOT * done, done, **labels),
            *histogram("trtllm_time_to_first_token_seconds", TTFT * done, done, **labels),
        ]

    return lines


def dynamo(model, rate):
    def lines(age):
        started = float(int(rate * age))
        labels = {"model": model}
        return [
            sample("dynamo_frontend_requests_started_total", started, endpoint="chat", **labels),
            sample("dynamo_frontend_requests_total", started / 2, status="success", **labels),
            sample("dynamo_frontend_active_requests", started / 2, **labels),
            sample("dynamo_frontend_queued_requests", started / 4, **labels),
            *histogram(
                "dynamo_frontend_input_sequence_tokens", TOKENS["prompt"] * started, started,
                **labels,
            ),
            *histogram(
                "dynamo_frontend_output_sequence_tokens", TOKENS["output"] * started, started,
                **labels,
            ),
            *histogram(
                "dynamo_frontend_inter_token_latency_seconds", TPOT * started, started, **labels
            ),
            *histogram(
                "dynamo_frontend_time_to_first_token_seconds", TTFT * started, started, **labels
            ),
        ]  # fmt: skip

    return lines


class Exporter(ThreadingHTTPServer):
    """Prints the metrics of each engine at a path of its own."""

    daemon_threads = True

    def __init__(self, engines):
        super().__init__(("127.0.0.1", 0), Handler)
        self.engines = engines
        self.begun = dict.fromkeys(engines, monotonic())
        self.silent = set()

    def restart(self, name):
        """Let an engine count from 0 on."""
        self.begun[name] = monotonic()

    def handle_error(self, request, client_address):
        """Say nothing of readers that are gone."""


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        name = self.path.strip("/")
        there = name in self.server.engines and name not in self.server.silent
        self.send_response(200 if there else 503)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        if there:
            lines = self.server.engines[name](monotonic() - self.server.begun[name])
            self.wfile.write(("\n".join(lines) + "\n").encode())


@contextmanager
def exporting(engines):
    server = Exporter(engines)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
