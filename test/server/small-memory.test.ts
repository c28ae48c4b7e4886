import { describe, expect, test } from 'vitest';
import { peopleOf, personOf } from '../faults/demo.ts';
import { ServerProcess } from '../helpers/process.ts';
import { mayLimitMemory, SmallMemory } from '../helpers/small-memory.ts';

describe.skipIf(!mayLimitMemory())('in a container of 768 MB', () => {
  test('a service with its own database starts, fills its demo and serves', async () => {
    using memory = new SmallMemory(768);
    await using server = await ServerProcess.start({ env: { DATABASE_URL: undefined, DEMO: 'on' }, memory });
    const { basic: authorization } = personOf(peopleOf(server.dataDir), 'owner');
    // V8 recompiles frequently used code, which can need too much memory.
    const path = '/api/v1/messages?anchor=newest&num_before=50&num_after=0';
    for (let i = 0; i < 150; i++) {
      const { status } = await fetch(`${server.url}${path}`, { headers: { authorization } });
      expect(status).toBe(200);
    }
    expect(memory.pids).toEqual([server.pid]);
  });
});
