import { type ButtonHTMLAttributes, lazy } from 'react';
import { openDialog } from '../ui/dialog.tsx';

// They are fetched when somebody wants to see them.
const PersonCard = lazy(() => import('./person-card.tsx').then((module) => ({ default: module.PersonCard })));
const StatusDialog = lazy(() => import('./status-dialog.tsx').then((module) => ({ default: module.StatusDialog })));

/** Shows who somebody is. */
export const openPerson = (userId: string): void => openDialog(<PersonCard userId={userId} />);

/** Asks the viewer for their status. */
export const openStatus = (): void => openDialog(<StatusDialog />);

type Props = ButtonHTMLAttributes<HTMLButtonElement> & { readonly userId: string };

/** What stands in it opens the card of a person. */
export function PersonButton({ userId, className = '', ...rest }: Props) {
  return <button type="button" className={`person-button ${className}`} onClick={() => openPerson(userId)} {...rest} />;
}
