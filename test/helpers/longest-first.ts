import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;

/**
 * The files that take longest. If one of them started last, one worker would still run after the other is done. Files
 * that mostly wait and files that mostly compute alternate, to keep the processors busy.
 */
const LONGEST = [
  ...['attacks', 'replay', 'event-queue', 'messages', 'clients/resume', 'topics', 'graphql-ws', 'idempotency'],
  ...['permits', 'pages', 'connections', 'edit-recipients', 'socket-places', 'scheduled-messages', 'mail'],
  ...['message-flags', 'schema', 'deactivation', 'custom-emoji', 'persisted-documents', 'hidden-addresses'],
  ...['migrations', 'fuzz', 'user-groups'],
].map((name) => `${name}.test.ts`);

const rank = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.indexOf(relative(ROOT, moduleId));
  return place === -1 ? LONGEST.length : place;
};

/** Starts with the files that take longest, regardless of cached durations of previous runs. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
