import { globalId } from '../api/global-id.ts';
import { openPerson } from './open-person.tsx';

/** Opens the card of a user whose mention in a message is clicked, or pressed with a key. @returns A function that stops it. */
export function openMentions(): () => void {
  const stop = new AbortController();
  addEventListener('click', (event) => open(event), stop);
  addEventListener('keydown', (event) => (event.key === 'Enter' || event.key === ' ') && open(event), stop);
  return () => stop.abort();
}

function open(event: Event): void {
  const mention = (event.target as Element | null)?.closest?.<HTMLElement>('.user-mention[role="button"]');
  if (mention == null || event.defaultPrevented) return;
  event.preventDefault();
  openPerson(globalId('User', mention.dataset['userId'] ?? ''));
}
