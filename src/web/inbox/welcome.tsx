import { useState } from 'react';
import { useData } from '../api/use-data.ts';
import { JoinedDocument } from '../generated/graphql.ts';
import { openNewMessage } from '../people/open-person.tsx';
import { useFirstScreen, useViewer } from '../people/use-viewer.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { IconButton } from '../ui/button.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';

/** Local storage key that is set once the user has closed the card. */
const KEY = 'welcome closed';
/** Time in milliseconds after joining for which a user is new. */
const NEW_FOR_MS = 14 * 24 * 60 * 60_000;

interface Step {
  readonly icon: IconName;
  readonly title: string;
  readonly detail: string;
  /** Path to which the step leads, or the action that it performs. */
  readonly to: string | (() => void);
}

const FOR_ALL: readonly Step[] = [
  {
    icon: 'status',
    title: 'Set up your profile',
    detail: 'Name, picture and status',
    to: addressOf({ name: 'settings', section: 'profile' }),
  },
  {
    icon: 'hash',
    title: 'Find your channels',
    detail: 'Subscribe to those that concern you',
    to: addressOf({ name: 'channels' }),
  },
  { icon: 'edit', title: 'Write a message', detail: 'To one person, or to several', to: openNewMessage },
];

const FOR_OWNERS: readonly Step[] = [
  {
    icon: 'people',
    title: 'Invite people',
    detail: 'By email or by a link',
    to: addressOf({ name: 'invitations' }),
  },
  {
    icon: 'settings',
    title: 'Set the name and icon',
    detail: 'And decide who can join',
    to: addressOf({ name: 'settings', section: 'organization' }),
  },
  {
    icon: 'hash',
    title: 'Create the first channels',
    detail: 'And choose those for all new users',
    to: addressOf({ name: 'channels' }),
  },
];

/** Card with first steps, for users who joined recently. Closing it removes it for good in this browser. */
export function Welcome() {
  const [isClosed, setClosed] = useState(() => localStorage.getItem(KEY) !== null);
  const { data } = useData(JoinedDocument, {}, { pause: isClosed });
  const { viewer } = useViewer();
  const organization = useFirstScreen()?.organization?.name ?? '';
  const joinedAt = data?.viewer?.joinedAt;
  if (isClosed || joinedAt === undefined || Date.now() - Date.parse(joinedAt) > NEW_FOR_MS) return null;
  const close = () => {
    localStorage.setItem(KEY, '1');
    setClosed(true);
  };
  const steps = viewer?.role === 'OWNER' ? FOR_OWNERS : FOR_ALL;
  return (
    <section className="welcome" aria-label="Welcome">
      <h2>Welcome to {organization}</h2>
      <IconButton className="welcome-close" icon="close" label="Close" onClick={close} />
      <ul className="welcome-steps">
        {steps.map((step) => (
          <li key={step.title}>
            <StepLink step={step} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function StepLink({ step: { icon, title, detail, to } }: { readonly step: Step }) {
  const content = (
    <>
      <Icon name={icon} />
      <span>
        <strong>{title}</strong>
        <small>{detail}</small>
      </span>
    </>
  );
  return typeof to === 'string' ? (
    <Link className="welcome-step" to={to}>
      {content}
    </Link>
  ) : (
    <button type="button" className="welcome-step" onClick={to}>
      {content}
    </button>
  );
}
