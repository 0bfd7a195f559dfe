#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py OUT [REGEX] [--orma PROGRAM] [--jobs N] [--diff]: runs the diff tests that prepare.py wrote to OUT.

REGEX chooses tests by their name or their folder. Prints each failed test with the first line of the error, then how many
tests pass in each folder, and in all. --diff prints the difference of the output, too. Exits with 1 when a test fails.
"""
import argparse
import collections
import concurrent.futures
import difflib
import json
import os
import re
import subprocess
import sys

# Folders whose tests do not concern orma.
LEFT_OUT = {
    'android': 'services and logs that only Android has',
    'art': 'profiles of Android\'s runtime',
    'chrome': 'events that only Chrome writes',
    'cros': 'events that only ChromeOS writes',
    'etw': 'events of Windows',
    'fuchsia': 'a format of Fuchsia',
    'gecko': 'profiles of Firefox',
    'graphics': 'frames of Android, and of GPUs of phones',
    'instruments': 'a format of macOS',
    'metrics': 'metrics of the first version, which upstream has deprecated',
    'pixel': 'events of Pixel phones',
    'pkvm': 'events of Android\'s hypervisor',
    'simpleperf': 'a format of Android',
    'simpleperf_proto': 'a format of Android',
    'trace_manifest': 'a description of several traces that only Perfetto\'s user interface writes',
    'translated_args': 'names that Chrome translates',
    'ufs': 'commands of the storage of phones',
}
# The same for single tests, by their names.
LEFT_OUT_TESTS = {
    'AdrenoCmdbatch:': 'events of a GPU of phones',
    'PackageLookup:': 'packages of Android',
    'ThermalExynos:': 'events of a chip of phones',
    'create_perfetto_table_double_metric_run': 'metrics of the first version',
    'display_video': 'a data source of Android',
    'winscope_': 'windows of Android',
}
SECONDS_MAX = 60


def strip_lines(text):
    """Upstream compares lines without blanks at their ends, and ignores empty lines at the beginning."""
    return '\n'.join(line.strip() for line in text.lstrip('\n').split('\n'))


def run(orma, folder, info):
    """Returns the reason why a test fails, or None, and the output beside the expected one."""
    with open(os.path.join(folder, 'expected'), encoding='utf8') as file:
        expected = strip_lines(file.read())
    # The options are those of upstream's runner.
    command = ['trace_processor_shell', '--analyze-trace-proto-content', '--crop-track-events',
               '--extra-checks', '-q', os.path.join(folder, 'query.sql'),
               os.path.join(folder, 'trace')]
    try:
        done = subprocess.run(command, executable=orma, capture_output=True,
                              timeout=SECONDS_MAX, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f'no end within {SECONDS_MAX} s', '', expected
    output = strip_lines(done.stdout.decode(errors='replace'))
    error = done.stderr.decode(errors='replace')
    if done.returncode < 0 or 'Sanitizer' in error:
        return 'it crashes: ' + error[:100], output, expected
    if info['error'] is not None:
        is_right = done.returncode != 0 and info['error'] in error
        return None if is_right else 'another error: ' + error, output, expected
    if done.returncode != 0:
        return error, output, expected
    return None if output == expected else 'another output', output, expected


def read_tests(out, pattern):
    """Yields the folder and the description of each chosen test."""
    with open(os.path.join(out, 'index.json'), encoding='utf8') as file:
        folders = json.load(file)
    for folder in folders:
        with open(os.path.join(folder, 'info.json'), encoding='utf8') as file:
            info = json.load(file)
        if LEFT_OUT.keys() & set(info['src'].split('/')):
            continue
        if any(name in info['name'] for name in LEFT_OUT_TESTS):
            continue
        if pattern.search(info['name']) or pattern.search(info['src']):
            yield folder, info


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out')
    parser.add_argument('regex', nargs='?', default='.')
    parser.add_argument('--orma', default='build/test/orma')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--diff', action='store_true')
    options = parser.parse_args()
    tests = list(read_tests(options.out, re.compile(options.regex)))
    passed, all_of = collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        results = threads.map(lambda test: run(options.orma, *test), tests)
        for (_, info), (reason, output, expected) in zip(tests, results):
            source = '/'.join(info['src'].split('/')[:2])
            all_of[source] += 1
            passed[source] += reason is None
            if reason is None:
                continue
            print('FAIL', info['name'], '|', ' '.join(reason.split())[:120])
            if options.diff:
                print('\n'.join(difflib.unified_diff(expected.split('\n'), output.split('\n'),
                                                     'expected', 'output', lineterm='')))
    for source, count in all_of.most_common():
        print(f'{passed[source]:4}/{count:<4} {source}')
    print(f'{passed.total()} of {all_of.total()} pass')
    sys.exit(passed != all_of)


if __name__ == '__main__':
    main()
