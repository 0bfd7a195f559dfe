#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prepare.py CHECKOUT OUT: turns the diff tests of Perfetto's Trace Processor into files that run.py reads.

CHECKOUT is a checkout of github.com/google/perfetto, of which the folders protos, python, src/trace_processor, test and
tools are used. Each test is Python code there: a trace (text of a protobuf message, a script that makes one, JSON, an
archive), a query, and the expected output. OUT/t/NAME has the files trace, query.sql, expected and info.json of a test;
OUT/index.json lists the folders. Upstream's texts stay outside our repository.

Needs protoc and Python's protobuf: apt-get install protobuf-compiler python3-protobuf.
"""
import collections
import glob
import io
import json
import os
import shutil
import subprocess
import sys

from google.protobuf import descriptor_pb2, text_format

TRACE = 'protos/perfetto/trace/trace.proto'
# Messages that extend those of a trace. Every generated trace is made with all of them, as upstream does.
EXTENSIONS = [
    'protos/perfetto/trace/test_extensions.proto',
    'protos/perfetto/trace/gpu/gpu_*.proto',
    'protos/third_party/android/android_extensions.proto',
    'protos/third_party/android/*/*.proto',
    'protos/third_party/chromium/chrome_track_event*.proto',
    'protos/third_party/simpleperf/*.proto',
]


class Skipped(Exception):
    """A test that cannot be prepared; its text is the reason."""


def write_descriptors(checkout, out):
    """Compiles the messages. Some import descriptor.proto, which is not part of the checkout but of Python's protobuf."""
    known = descriptor_pb2.FileDescriptorSet()
    descriptor_pb2.DESCRIPTOR.CopyToProto(known.file.add())
    known_path = os.path.join(out, 'known.descriptor')
    with open(known_path, 'wb') as file:
        file.write(known.SerializeToString())
    paths = []
    extensions = sorted({path for pattern in EXTENSIONS
                         for path in glob.glob(pattern, root_dir=checkout)})
    for name, sources in (('trace', [TRACE]), ('extensions', extensions)):
        paths.append(os.path.join(out, name + '.descriptor'))
        subprocess.run(['protoc', '--descriptor_set_in=' + known_path, '-I.', '--include_imports',
                        '-o', paths[-1]] + sources, cwd=checkout, check=True)
    return paths


class Preparer:
    """Writes the files of one test after the other."""

    def __init__(self, checkout, out):
        from python.generators.diff_tests import testing, trace_generator, utils
        self.testing = testing
        self.checkout, self.out = checkout, out
        self.tests = os.path.join(checkout, 'test/trace_processor/diff_tests')
        self.descriptors = write_descriptors(checkout, out)
        self.generator = trace_generator.TraceGenerator(self.descriptors[0], self.descriptors[1:])
        self.protos = utils.ProtoManager(self.descriptors)

    def message(self, text):
        message = self.protos.create_message('perfetto.protos.Trace')()
        text_format.Merge(text, message)
        return message.SerializeToString()

    def path_of(self, test, path):
        folder = test.test_data_dir if isinstance(path, self.testing.DataPath) else test.index_dir
        path = os.path.abspath(os.path.join(folder, path.filename))
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        return path

    def text_of(self, test, path):
        with open(self.path_of(test, path), encoding='utf8') as file:
            return file.read()

    def trace_of_file(self, path):
        if path.endswith('.textproto'):
            with open(path, encoding='utf8') as file:
                return self.message(file.read())
        if path.endswith('.py'):
            environment = dict(os.environ)
            environment['PYTHONPATH'] = os.path.join(self.checkout, 'test')
            script = subprocess.run([sys.executable, path] + self.descriptors, env=environment,
                                    capture_output=True, check=False)
            if script.returncode != 0:
                raise Skipped('its script fails: ' + script.stderr.decode().splitlines()[-1][:80])
            return script.stdout
        with open(path, 'rb') as file:
            return file.read()

    def trace_of(self, test):
        kinds, trace = self.testing, test.trace
        written = io.BytesIO()
        if isinstance(trace, kinds.Path):
            data = self.trace_of_file(self.path_of(test, trace))
        elif isinstance(trace, kinds.TextProto):
            data = self.message(trace.contents)
        elif isinstance(trace, kinds.Zip):
            self.generator.serialize_zip_trace(test, trace, written)
            data = written.getvalue()
        elif isinstance(trace, kinds.Tar):
            self.generator.serialize_tar_trace(test, trace, written)
            data = written.getvalue()
        elif isinstance(trace, kinds.SimpleperfProto):
            self.generator.serialize_simpleperf_proto_trace(trace, written)
            data = written.getvalue()
        else:
            data = trace.contents.encode('utf8') if trace else b''
        if test.trace_modifier:
            message = self.protos.create_message('perfetto.protos.Trace')()
            message.ParseFromString(data)
            test.trace_modifier.inject(message)
            data = message.SerializeToString()
        return data

    def expected_of(self, test):
        """Returns the output, and what the error has to contain, or None."""
        kinds, out = self.testing, test.out
        if isinstance(out, kinds.ExpectedError):
            return '', out.contains
        if isinstance(out, kinds.BinaryProto):
            raise Skipped('its result is a message of protobuf')
        return self.text_of(test, out) if isinstance(out, kinds.Path) else out.contents, None

    def prepare(self, name, test):
        """Writes the files of a test; returns their folder."""
        if test.is_metric() or test.is_metric_v2() or test.is_structured_query():
            raise Skipped('it asks for a metric or a structured query')
        if test.module_dependencies:
            raise Skipped('it needs a build with ' + ', '.join(test.module_dependencies))
        expected, error = self.expected_of(test)
        is_path = isinstance(test.query, self.testing.Path)
        query = self.text_of(test, test.query) if is_path else test.query
        info = {'name': name, 'src': os.path.relpath(test.index_dir, self.tests), 'error': error}
        if test.register_files_dir:
            info['register'] = self.path_of(test, test.register_files_dir)
        trace = self.trace_of(test)
        folder = os.path.join(self.out, 't', name.replace(':', '_').replace('/', '_'))
        os.makedirs(folder, exist_ok=True)
        for file_name, text in (('query.sql', query), ('expected', expected),
                                ('info.json', json.dumps(info))):
            with open(os.path.join(folder, file_name), 'w', encoding='utf8') as file:
                file.write(text)
        with open(os.path.join(folder, 'trace'), 'wb') as file:
            file.write(trace)
        return folder


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    checkout, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    shutil.rmtree(os.path.join(out, 't'), ignore_errors=True)
    sys.path[:0] = [checkout, os.path.join(checkout, 'test/trace_processor/diff_tests')]
    os.chdir(checkout)
    from include_index import fetch_all_diff_tests
    preparer = Preparer(checkout, out)
    folders, skipped = [], collections.Counter()
    for name, test in fetch_all_diff_tests(preparer.tests):
        try:
            folders.append(preparer.prepare(name, test))
        except Skipped as reason:
            skipped[str(reason)] += 1
        except FileNotFoundError:
            skipped['its data is not part of the repository'] += 1
        except text_format.ParseError as error:
            skipped['its text is not a message: ' + str(error)[:80]] += 1
    with open(os.path.join(out, 'index.json'), 'w', encoding='utf8') as file:
        json.dump(folders, file)
    for reason, count in skipped.most_common():
        print(f'{count:5} not prepared: {reason}')
    print(f'{len(folders):5} prepared')


if __name__ == '__main__':
    main()
