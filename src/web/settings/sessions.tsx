import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { OwnSessionsDocument, RevokeOtherSessionsDocument, RevokeSessionDocument } from '../generated/graphql.ts';
import { SessionRow } from '../people/session-row.tsx';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';

/** List of the viewer's sessions, with buttons that end them. */
export function Sessions() {
  const read = useData(OwnSessionsDocument, {}, { requestPolicy: 'cache-and-network' });
  const one = useCommand(RevokeSessionDocument);
  const others = useCommand(RevokeOtherSessionsDocument);
  const { nodes: sessions = [], totalCount = 0 } = read.data?.viewer?.sessions ?? {};
  const readAgain = () => read.state === 'ready' && read.reload();
  return (
    <section className="form-section" aria-labelledby="sessions-title">
      <h3 id="sessions-title">Active sessions</h3>
      <NotReady of={read} />
      <ul className="plain-list">
        {sessions.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            onEnd={async () => (await one.run({ input: { sessionId: session.id } })) && readAgain()}
          />
        ))}
      </ul>
      {(totalCount ?? 0) > sessions.length && (
        <p className="soft">{`Showing the first ${sessions.length} of ${totalCount} sessions.`}</p>
      )}
      <Refusal>{one.refusal ?? others.refusal}</Refusal>
      {sessions.length > 1 && (
        <div>
          <Button disabled={others.isBusy} onClick={async () => (await others.run({})) && readAgain()}>
            Sign out everywhere else
          </Button>
        </div>
      )}
    </section>
  );
}
