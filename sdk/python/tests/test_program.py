"""The package as a program of its own."""

import json
import os
import subprocess
import sys
import unittest

PROGRAM = """
print("printed before")
import mortise_plugin as mortise

@mortise.partitioner("by-length", version="1.0.0")
def by_length(topic, key, partitions):
    "The length of the key."
    return len(key or b"") % partitions

print("printed after")
mortise.main()
"""


def run(*args, **env):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *args], env={**os.environ, **env}, capture_output=True, text=True, timeout=60
    )


class Program(unittest.TestCase):
    def test_by_hand(self):
        done = run()
        self.assertEqual(done.returncode, 2)
        self.assertIn("by-length 1.0.0  The length of the key.", done.stderr)

    def test_describe(self):
        done = run("--describe")
        self.assertEqual(done.returncode, 0)
        (described,) = json.loads(done.stdout.partition("printed after\n")[2])
        self.assertEqual((described["kind"], described["name"]), ("partitioner", "by-length"))

    def test_needs_a_certificate(self):
        done = run(MORTISE_PLUGIN="c0a1e5ce-plugin-of-mortise")
        self.assertEqual(done.returncode, 1)
        self.assertIn("PLUGIN_CLIENT_CERT", done.stderr)
        self.assertEqual(done.stdout, "printed before\n")  # what was printed once the package was there is not on it
        self.assertIn("printed after", done.stderr)


if __name__ == "__main__":
    unittest.main()
