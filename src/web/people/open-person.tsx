import type { ButtonHTMLAttributes } from 'react';
import { openDialog } from '../ui/dialog.tsx';
import { lazyDialog } from '../ui/lazy-dialog.tsx';

// The code of each dialog is loaded when the dialog is first opened.
const PersonCard = lazyDialog(async () => (await import('./person-card.tsx')).PersonCard);
const StatusDialog = lazyDialog(async () => (await import('./status-dialog.tsx')).StatusDialog);
const NewMessageDialog = lazyDialog(async () => (await import('./new-message.tsx')).NewMessageDialog);

/** Opens the card of a user. */
export const openPerson = (userId: string): void => openDialog(<PersonCard userId={userId} />);

/** Opens the dialog that sets the viewer's status. */
export const openStatus = (): void => openDialog(<StatusDialog />);

/** Opens the dialog that chooses the recipients of a direct message. */
export const openNewMessage = (): void => openDialog(<NewMessageDialog />);

type Props = ButtonHTMLAttributes<HTMLButtonElement> & { readonly userId: string };

/** Button that opens the card of a user. */
export function PersonButton({ userId, className = '', ...rest }: Props) {
  return <button type="button" className={`person-button ${className}`} onClick={() => openPerson(userId)} {...rest} />;
}
