import { relative } from 'node:path';
import { beforeEach } from 'vitest';
import { isPicked } from './part.ts';

const ROOT = new URL('..', import.meta.url).pathname;

beforeEach(({ task, skip }) => {
  const file = relative(ROOT, task.file.filepath);
  skip(!isPicked(file, task.fullTestName), 'not of the part that this run makes; test:postgres makes all');
});
