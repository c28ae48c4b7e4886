import type { SessionLineFragment } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';

interface Props {
  readonly session: SessionLineFragment;
  readonly onEnd: () => void;
}

/** A session as a row of a list, with a button that ends it, unless it is the current one. */
export function SessionRow({ session, onEnd }: Props) {
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
