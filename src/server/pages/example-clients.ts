import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An example client for developers to copy. The tests run it against a real server. */
export interface ExampleClient {
  /** Path at which the file is served. */
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
    about: 'Registers a queue, reads the state, subscribes and resumes: 30 lines, no dependencies',
  },
  { file: 'client.py', title: 'Python client', about: 'The same over REST, with only the standard library' },
  { file: 'bot.mjs', title: 'A bot', about: 'Replies to each mention exactly once, also after failures' },
] as const;

/** Returns the example clients that are installed. An image of the service may omit the test folder, which contains them. */
export function exampleClients(): ExampleClient[] {
  return KNOWN.filter(({ file }) => existsSync(join(FOLDER, file))).map(({ file, ...said }) => ({
    ...said,
    path: EXAMPLES_PREFIX + file,
    text: readFileSync(join(FOLDER, file), 'utf8'),
  }));
}
