import { createSwitch } from '../base/remembered.ts';
import { useStore } from '../base/store.ts';
import { Icon } from '../ui/icons.tsx';
import { useHasColumn } from '../ui/screen.ts';
import { openMembers } from './open-channel.tsx';

/** Whether the user has opened the column of members. */
const membersColumn = createSwitch('members column');

/** Returns whether the members of a channel are shown beside its messages. */
export function useMembersColumn(): boolean {
  const hasColumn = useHasColumn();
  const isOpen = useStore(membersColumn);
  return hasColumn && isOpen;
}

interface Props {
  readonly channelId: string;
  readonly count: number;
}

/** Button that shows the members of a channel: beside the messages, or in a dialog if the screen has no space for a column. */
export function MembersButton({ channelId, count }: Props) {
  const hasColumn = useHasColumn();
  const isOpen = useStore(membersColumn);
  const state = hasColumn ? ({ 'aria-expanded': isOpen } as const) : ({ 'aria-haspopup': 'dialog' } as const);
  return (
    <button
      type="button"
      className="icon-button members-button"
      aria-label={`Members, ${count}`}
      title={count === 1 ? '1 member' : `${count} members`}
      {...state}
      onClick={() => (hasColumn ? membersColumn.set(!isOpen) : openMembers(channelId))}
    >
      <Icon name="people" />
      <span aria-hidden="true">{count}</span>
    </button>
  );
}

/** Hides the column of members. The focus moves to the button that shows it again. */
export function hideMembers(): void {
  membersColumn.set(false);
  document.querySelector<HTMLElement>('.members-button')?.focus();
}
