import pytest
from integrations.conftest import one_thread, tokenizer  # noqa: F401 (fixtures)


@pytest.fixture(scope="session")
def model(tokenizer, tmp_path_factory):  # noqa: F811
    """Make a directory with a tiny model."""
    from integrations.helpers import tiny_model

    directory = tmp_path_factory.mktemp("model")
    tiny_model(tokenizer).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
