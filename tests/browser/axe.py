"""What axe-core (https://github.com/dequelabs/axe-core) finds in a page: what bars people from reading or using it."""

import os
from pathlib import Path

from selenium.webdriver import Chrome

_RUN = """
const done = arguments[0];
const line = (rule) => `${rule.id}: ${rule.help}: ` + rule.nodes.slice(0, 3)
  .map((node) => `${node.html.slice(0, 200)} (${(node.any[0] ?? node.all[0] ?? node.none[0])?.message})`).join("; ");
axe.run(document).then((found) => done(found.violations.map(line)), (error) => done([String(error)]));
"""


def violations(driver: Chrome) -> list[str]:
    """The rules that the page breaks, each with its first three elements; EYECHART_AXE names `axe.min.js`."""
    driver.execute_script(Path(os.environ["EYECHART_AXE"]).read_text(encoding="utf-8"))
    return driver.execute_async_script(_RUN)
