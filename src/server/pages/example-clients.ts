import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A client to copy, which the tests run against a real server. */
export interface ExampleClient {
  /** Where it is served. */
  readonly path: string;
  readonly title: string;
  readonly about: string;
  readonly text: string;
}

const FOLDER = join(import.meta.dirname, '../../../test/examples');
export const EXAMPLES_PREFIX = '/developers/examples/';

const KNOWN = [
  {
    file: 'client.mjs',
    title: 'JavaScript client',
    about: 'Register, state, subscribe, resume: 30 lines, nothing to install',
  },
  { file: 'client.py', title: 'Python client', about: 'The same over REST, with the standard library alone' },
  { file: 'bot.mjs', title: 'A bot', about: 'Answers whoever mentions it, once, whatever breaks' },
] as const;

/** Those that came with the service: an image of it may go without its tests. */
export function exampleClients(): ExampleClient[] {
  return KNOWN.filter(({ file }) => existsSync(join(FOLDER, file))).map(({ file, ...said }) => ({
    ...said,
    path: EXAMPLES_PREFIX + file,
    text: readFileSync(join(FOLDER, file), 'utf8'),
  }));
}
