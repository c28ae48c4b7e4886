import type { ReactNode } from 'react';
import type { PersonBadgeFragment } from '../generated/graphql.ts';
import { RemoveButton } from '../ui/button.tsx';
import { Avatar, PresenceDot, StatusEmoji } from '../ui/person.tsx';
import { PersonButton } from './open-person.tsx';

interface Props {
  readonly person: PersonBadgeFragment;
  /** A word about them. */
  readonly detail?: ReactNode;
  /** What can be done about them. */
  readonly children?: ReactNode;
}

/** Somebody as a row of a list: their name opens their card. */
export function PersonRow({ person, detail, children }: Props) {
  return (
    <li className="row">
      <Avatar url={person.avatarUrl} size={32} />
      <PresenceDot person={person} />
      <div className="row-body">
        <PersonButton userId={person.id}>{person.fullName}</PersonButton> <StatusEmoji status={person.status} />
        {detail !== undefined && <p className="soft">{detail}</p>}
      </div>
      {children}
    </li>
  );
}

interface MemberProps {
  readonly person: PersonBadgeFragment;
  /** Undefined where the viewer may not. */
  readonly onRemove: ((id: string) => void) | undefined;
}

/** Somebody who is in something, and can be taken out of it. */
export const MemberRow = ({ person, onRemove }: MemberProps) => (
  <PersonRow person={person}>
    <RemoveButton id={person.id} name={person.fullName} onRemove={onRemove} />
  </PersonRow>
);
