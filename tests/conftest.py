from hypothesis import HealthCheck, settings

from tests.campaign import LONG

settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


def pytest_terminal_summary(terminalreporter):
    if not LONG:
        terminalreporter.write_line(
            "left out: long tests, and nine tenths of every random campaign (make test-long)"
        )
