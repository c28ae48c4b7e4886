import type { ReactNode } from 'react';
import { useData } from '../api/use-data.ts';
import { PersonCardDocument, type ProfileFragment } from '../generated/graphql.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { type Clock, useClock } from '../ui/clock.ts';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Avatar, glyphOf, PresenceDot } from '../ui/person.tsx';
import { usePresence } from '../ui/presence.ts';
import { openStatus } from './open-person.tsx';
import { useViewer } from './use-viewer.ts';
import './people.css';
import { Button } from '../ui/button.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { PersonMenuButton } from './person-menu.tsx';
import { ProfileValues } from './profile-values.tsx';
import { ROLE_NAMES } from './roles.ts';

/** Dialog with a user's status, presence, role, local time and profile, and a link to their direct conversation. */
export function PersonCard({ userId }: { readonly userId: string }) {
  const read = useData(PersonCardDocument, { userId }, { requestPolicy: 'cache-and-network' });
  if (read.state === 'loading') return null;
  if (read.state === 'failed') {
    return (
      <Dialog title="Profile">
        <NotReady of={read} />
      </Dialog>
    );
  }
  const person = read.data.user;
  if (person === null) return <Dialog title="User not found">The user does not exist, or you cannot see them.</Dialog>;
  return (
    <Dialog title={person.fullName}>
      <div className="person-card-head">
        <Avatar person={person} url={person.largeAvatarUrl} size={88} />
        <div>
          <p className="person-card-role">{kindOf(person)}</p>
          <PresenceLine person={person} />
          <StatusLine status={person.status} />
        </div>
        <PersonMenuButton person={person} />
      </div>
      <Facts person={person} />
      <ProfileValues values={person.profileData} />
      <Actions person={person} />
    </Dialog>
  );
}

function kindOf({ isBot, isActive, role, botOwner }: ProfileFragment): string {
  const kind = isBot ? (botOwner === null ? 'Bot' : `Bot of ${botOwner.fullName}`) : ROLE_NAMES[role];
  return isActive ? kind : `${kind}, deactivated`;
}

const WORDS = { active: 'Active', idle: 'Idle', offline: 'Offline', bot: 'Bot' } as const;

function PresenceLine({ person }: { readonly person: ProfileFragment }) {
  const { moment } = useClock();
  const presence = usePresence(person);
  if (presence === 'bot') return null;
  const seen = presence === 'offline' ? person.presence?.idleAt : undefined;
  return (
    <p className="person-line">
      <span aria-hidden="true">
        <PresenceDot person={person} />
      </span>
      {WORDS[presence]}
      {seen !== undefined && `, last seen ${moment(seen)}`}
    </p>
  );
}

function StatusLine({ status: { text, emojiCode, emojiName, reactionType } }: Pick<ProfileFragment, 'status'>) {
  if (text === '' && emojiName === null) return null;
  const glyph = glyphOf(emojiCode, reactionType) ?? (emojiName === null ? '' : `:${emojiName}:`);
  return (
    <p className="person-line">
      {glyph} {text}
    </p>
  );
}

function Facts({ person: { timezone, deliveryEmail, joinedAt } }: { readonly person: ProfileFragment }) {
  const time = localTime(useClock(), timezone);
  return (
    <dl className="facts">
      {time !== undefined && <Fact name="Local time">{time}</Fact>}
      {deliveryEmail !== null && (
        <Fact name="Email">
          <a href={`mailto:${deliveryEmail}`}>{deliveryEmail}</a>
        </Fact>
      )}
      <Fact name="Joined">{new Date(joinedAt).toLocaleDateString(undefined, { dateStyle: 'long' })}</Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Returns the time of day in a time zone. Undefined if the zone is empty or if the browser does not support it. */
function localTime({ nowIn }: Clock, timeZone: string): string | undefined {
  if (timeZone === '') return undefined;
  try {
    return nowIn(timeZone);
  } catch {
    return undefined;
  }
}

function Actions({ person }: { readonly person: ProfileFragment }) {
  const { viewerId } = useViewer();
  const close = useClose();
  const isOwn = person.id === viewerId;
  const edit = () => {
    close();
    openStatus();
  };
  return (
    <div className="form-actions">
      {isOwn && <Button onClick={edit}>Set status</Button>}
      {isOwn && (
        <Link className="button button-link" to={addressOf({ name: 'settings', section: 'profile' })} onClick={close}>
          Edit profile
        </Link>
      )}
      {person.isActive && (
        <Link
          className="button button-primary button-link"
          to={addressOf({ name: 'direct', userIds: [person.id] })}
          onClick={close}
        >
          {isOwn ? 'Notes to self' : 'Message'}
        </Link>
      )}
    </div>
  );
}
