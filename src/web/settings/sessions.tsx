import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  OwnSessionsDocument,
  type OwnSessionsQuery,
  RevokeOtherSessionsDocument,
  RevokeSessionDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';

type Session = NonNullable<NonNullable<OwnSessionsQuery['viewer']>['sessions']>['nodes'][number];

/** List of the viewer's sessions, with buttons that end them. */
export function Sessions() {
  const read = useData(OwnSessionsDocument, {}, { requestPolicy: 'cache-and-network' });
  const one = useCommand(RevokeSessionDocument);
  const others = useCommand(RevokeOtherSessionsDocument);
  const { nodes: sessions = [], totalCount = 0 } = read.data?.viewer?.sessions ?? {};
  const readAgain = () => read.state === 'ready' && read.reload();
  return (
    <section className="group-of-fields" aria-labelledby="sessions-title">
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

function SessionRow({ session, onEnd }: { readonly session: Session; readonly onEnd: () => void }) {
  const { moment } = useClock();
  const name = browserOf(session.userAgent);
  return (
    <li className="row">
      <div className="row-body">
        <strong>{name}</strong>
        <p className="soft">
          {session.isCurrent ? 'This browser' : `Last seen ${moment(session.lastSeenAt)}`}
          {session.networkAddress !== '' && `, from ${session.networkAddress}`}
        </p>
      </div>
      {!session.isCurrent && (
        <Button onClick={onEnd} aria-label={`Sign out of ${name}`}>
          Sign out
        </Button>
      )}
    </li>
  );
}

const BROWSERS = [
  ['Edge', /Edg\//],
  ['Opera', /OPR\//],
  ['Firefox', /Firefox\//],
  ['Chrome', /Chrom(e|ium)\//],
  ['Safari', /Safari\//],
] as const;
const SYSTEMS = [
  ['Android', /Android/],
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const;

/** Returns the name of a browser and of its operating system, if known. For unknown browsers, returns the user agent. */
function browserOf(userAgent: string): string {
  const [browser] = BROWSERS.find(([, known]) => known.test(userAgent)) ?? [];
  const [system] = SYSTEMS.find(([, known]) => known.test(userAgent)) ?? [];
  if (browser === undefined) return userAgent || 'Unknown browser';
  return system === undefined ? browser : `${browser} on ${system}`;
}
