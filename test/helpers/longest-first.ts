import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;

/**
 * The files that take longest: begun last, one of them would keep one worker busy after the other is done. By turns one that
 * mostly waits and one that mostly works, so that the processors have something to do.
 */
const LONGEST = [
  ...['attacks', 'replay', 'event-queue', 'messages', 'clients/resume', 'topics', 'graphql-ws', 'idempotency', 'turns'],
  ...['pages', 'connections', 'edits-told', 'socket-places', 'scheduled-messages', 'mail', 'message-flags', 'schema'],
  ...['deactivation', 'custom-emoji', 'persisted-documents', 'hidden-addresses', 'migrations', 'fuzz', 'user-groups'],
].map((name) => `${name}.test.ts`);

const rank = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.indexOf(relative(ROOT, moduleId));
  return place === -1 ? LONGEST.length : place;
};

/** Begins with the files that take longest, whatever was measured or not in runs before. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
