"""Log lines that a broker understands: one JSON object a line on standard error."""

import datetime
import json
import logging

_LEVELS = ((logging.ERROR, "ERROR"), (logging.WARNING, "WARN"), (logging.INFO, "INFO"))


class JSONLines(logging.Formatter):
    """Formats records as lines with time, level, msg and logger."""

    def format(self, record):
        level = next((name for least, name in _LEVELS if record.levelno >= least), "DEBUG")
        line = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.timezone.utc).isoformat(),
            "level": level,
            "msg": record.getMessage(),
            "logger": record.name,
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up():
    """Sends everything that is logged to the broker, which decides what it shows."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSONLines())
    logging.basicConfig(handlers=[handler], level=logging.DEBUG)
    logging.getLogger("asyncio").setLevel(logging.INFO)
