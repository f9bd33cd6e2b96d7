#!/usr/bin/env python3
"""Deletes by the topic's retention.ms, but keeps at least some of the newest segments,
so that a topic that is rarely written to is never empty."""
import mortise_plugin as mortise


@mortise.retention("keep-newest", version="1.0.0", config={"segments": 1})
def keep_newest(log, config):
    """As retention.ms, but never the newest segments."""
    if log.retention_ms < 0:
        return 0
    committed = min(log.high_watermark, log.last_stable)
    oldest = 0
    for segment in log.segments[: max(len(log.segments) - config["segments"], 0)]:
        at = segment.max_timestamp_ms
        if at < 0 or at > log.now_ms:  # no record, or one dated in the future
            at = segment.modified_ms
        if segment.next_offset > committed or log.now_ms - at <= log.retention_ms:
            break
        oldest += 1
    return oldest, f"older than {log.retention_ms} ms"


mortise.main()
