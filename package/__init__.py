"""An eye chart for multimodal LLMs: `datasets_scripts`, `metrics`, `evaluators` and `hub_cards`."""


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported here, as `eyechart --help` must answer at once.
    from importlib.metadata import version

    return version("eyechart")
