import { type ComponentType, type ReactNode, useEffect, useRef } from 'react';
import { useRights, useViewer } from '../people/use-viewer.ts';
import { Link } from '../routing/router.tsx';
import {
  ADMINISTRATION_SECTIONS,
  type AdministrationSection,
  addressOf,
  type SettingsSection,
} from '../routing/routes.ts';
import { Header } from '../ui/header.tsx';
import { lazily } from '../ui/lazily.tsx';
import { reloadOnce, reloadPage } from '../ui/reload.ts';
import { Account } from './account.tsx';
import { ApiKeys } from './api-keys.tsx';
import { AuditLog } from './audit-log.tsx';
import { NotificationSettings } from './notification-settings.tsx';
import { Preferences } from './preferences.tsx';
import { Profile } from './profile.tsx';
import { Security } from './security.tsx';
import { SingleSignOn } from './single-sign-on.tsx';
import './settings.css';

const AdministrationPage = lazily(
  async () => (await import('../administration/administration-page.tsx')).AdministrationPage,
  {
    Frame: ({ children }) => children,
    onGone: (isAsked) => void (isAsked ? reloadPage() : reloadOnce()),
  },
);

/** Users who can see a section. */
type Readers = 'everyone' | 'bot creators' | 'emoji creators' | 'administrators' | 'owners';

interface Section {
  readonly title: string;
  readonly readers: Readers;
}

const SECTIONS: Readonly<Record<SettingsSection, Section>> = {
  profile: { title: 'Profile', readers: 'everyone' },
  account: { title: 'Account', readers: 'everyone' },
  'api-keys': { title: 'API keys', readers: 'everyone' },
  preferences: { title: 'Preferences', readers: 'everyone' },
  notifications: { title: 'Notifications', readers: 'everyone' },
  organization: { title: 'Profile and settings', readers: 'administrators' },
  permissions: { title: 'Permissions', readers: 'administrators' },
  people: { title: 'People', readers: 'administrators' },
  bots: { title: 'Bots', readers: 'bot creators' },
  emoji: { title: 'Custom emoji', readers: 'emoji creators' },
  'profile-fields': { title: 'Profile fields', readers: 'administrators' },
  domains: { title: 'Domains', readers: 'administrators' },
  'default-channels': { title: 'Default channels', readers: 'administrators' },
  folders: { title: 'Channel folders', readers: 'administrators' },
  usage: { title: 'Usage', readers: 'administrators' },
  'audit-log': { title: 'Audit log', readers: 'administrators' },
  'single-sign-on': { title: 'Single sign-on', readers: 'owners' },
  security: { title: 'Sign-in security', readers: 'owners' },
};

/** Content of the sections that are not in the chunk of the administration. */
const SHOWN: Readonly<Record<Exclude<SettingsSection, AdministrationSection>, ComponentType>> = {
  profile: Profile,
  account: Account,
  'api-keys': ApiKeys,
  preferences: Preferences,
  notifications: NotificationSettings,
  'audit-log': AuditLog,
  'single-sign-on': SingleSignOn,
  security: Security,
};

/** The parts of the navigation, with their sections. */
const NAVIGATION: readonly (readonly [title: string, sections: readonly SettingsSection[]])[] = [
  ['Your settings', ['profile', 'account', 'api-keys', 'preferences', 'notifications']],
  ['Organization', [...ADMINISTRATION_SECTIONS, 'audit-log', 'single-sign-on', 'security']],
];

const isAdministrationSection = (section: SettingsSection): section is AdministrationSection =>
  (ADMINISTRATION_SECTIONS as readonly SettingsSection[]).includes(section);

interface Props {
  /** Absent: the profile. Narrow screens show the navigation instead. */
  readonly section: SettingsSection | undefined;
  readonly menu: ReactNode;
}

/**
 * View of the settings of the viewer and, for administrators, of the organization. Changes are saved immediately, except in
 * forms that have a button.
 */
export function SettingsView({ section: asked, menu }: Props) {
  const section = asked ?? 'profile';
  const isVisible = useIsVisible();
  const heading = useFocusWithout(asked);
  return (
    <>
      <Header menu={menu} title="Settings" />
      <div className="page settings" data-section data-pane={asked === undefined ? 'navigation' : 'section'}>
        <nav className="settings-nav" aria-label="Settings">
          {NAVIGATION.map(([title, sections]) => (
            <Part key={title} title={title} sections={sections.filter(isVisible)} shown={section} />
          ))}
        </nav>
        <section className="page-section" aria-labelledby="settings-title">
          <Link className="settings-back" to={addressOf({ name: 'settings' })}>
            All settings
          </Link>
          <h2 id="settings-title" ref={heading} tabIndex={-1}>
            {SECTIONS[section].title}
          </h2>
          <Content section={section} isVisible={isVisible(section)} />
        </section>
      </div>
    </>
  );
}

function Content({ section, isVisible }: { readonly section: SettingsSection; readonly isVisible: boolean }) {
  if (!isAdministrationSection(section)) {
    const Shown = SHOWN[section];
    return <Shown />;
  }
  if (!isVisible) return <p className="soft">Only administrators can see these settings.</p>;
  return <AdministrationPage key={section} section={section} />;
}

interface PartProps {
  readonly title: string;
  readonly sections: readonly SettingsSection[];
  readonly shown: SettingsSection;
}

function Part({ title, sections, shown }: PartProps) {
  if (sections.length === 0) return null;
  return (
    <>
      <h2 className="settings-part">{title}</h2>
      <ul className="plain-list">
        {sections.map((name) => (
          <li key={name}>
            <Link
              className="settings-link"
              to={addressOf({ name: 'settings', section: name })}
              {...(name === shown && { 'aria-current': 'page' })}
            >
              {SECTIONS[name].title}
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Returns a function that returns whether the viewer can see a section. */
function useIsVisible(): (section: SettingsSection) => boolean {
  const { viewer } = useViewer();
  const { viewerCanCreateBots = false, viewerCanAddCustomEmoji = false } = useRights();
  const isAdministrator = viewer?.role === 'OWNER' || viewer?.role === 'ADMINISTRATOR';
  const readers: Readonly<Record<Readers, boolean>> = {
    everyone: true,
    'bot creators': isAdministrator || viewerCanCreateBots,
    'emoji creators': isAdministrator || viewerCanAddCustomEmoji,
    administrators: isAdministrator,
    owners: viewer?.role === 'OWNER',
  };
  return (section) => readers[SECTIONS[section].readers];
}

/**
 * Moves the focus on narrow screens, where the link that had the focus is no longer shown after navigation: to the heading of
 * the section, or to a link of the list.
 *
 * @returns The reference for the heading.
 */
function useFocusWithout(section: SettingsSection | undefined) {
  const heading = useRef<HTMLHeadingElement>(null);
  const last = useRef(section);
  useEffect(() => {
    const isChanged = last.current !== section;
    last.current = section;
    const { activeElement } = document;
    const isLost = activeElement === document.body || (activeElement as HTMLElement).offsetParent === null;
    if (!isChanged || !isLost) return;
    const link = document.querySelector<HTMLElement>('.settings-link[aria-current]');
    (section === undefined ? link : heading.current)?.focus();
  }, [section]);
  return heading;
}
