import type { ReactNode } from 'react';
import type { PersonBadgeFragment } from '../generated/graphql.ts';
import { RemoveButton } from '../ui/button.tsx';
import { AvatarWithPresence, StatusEmoji } from '../ui/person.tsx';
import { PersonButton } from './open-person.tsx';

interface Props {
  readonly person: PersonBadgeFragment;
  /** Short text about the user. */
  readonly detail?: ReactNode;
  /** Controls for actions on the user. */
  readonly children?: ReactNode;
}

/** A user as a row of a list. A click on the name opens the user's card. */
export function PersonRow({ person, detail, children }: Props) {
  return (
    <li className="row">
      <AvatarWithPresence person={person} size={32} />
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
  /** Called to remove the member. Undefined if the viewer cannot remove members. */
  readonly onRemove: ((id: string) => void) | undefined;
}

/** A member as a row of a list, with a button that removes the member if the viewer can do so. */
export const MemberRow = ({ person, onRemove }: MemberProps) => (
  <PersonRow person={person}>
    <RemoveButton id={person.id} name={person.fullName} onRemove={onRemove} />
  </PersonRow>
);
