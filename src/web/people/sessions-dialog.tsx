import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { type ManagedPersonFragment, RevokeSessionDocument, SessionsOfDocument } from '../generated/graphql.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { SessionRow } from './session-row.tsx';

/** Dialog with the sessions of a user, which administrators can end. */
export function SessionsDialog({ person: { id, fullName } }: { readonly person: ManagedPersonFragment }) {
  const read = useData(SessionsOfDocument, { userId: id }, { requestPolicy: 'cache-and-network' });
  const { run, refusal } = useCommand(RevokeSessionDocument);
  const sessions = read.data?.user?.sessions?.nodes ?? [];
  const end = async (sessionId: string) => {
    if ((await run({ input: { sessionId } })) && read.state === 'ready') read.reload();
  };
  return (
    <Dialog title={`Sessions of ${fullName}`}>
      <NotReady of={read} />
      <ul className="plain-list" aria-label="Sessions">
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} onEnd={() => void end(session.id)} />
        ))}
        {read.state === 'ready' && sessions.length === 0 && <li className="row soft">No active sessions.</li>}
      </ul>
      <Refusal>{refusal}</Refusal>
    </Dialog>
  );
}
