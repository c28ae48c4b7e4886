import type { ReactNode } from 'react';
import { Link } from '../routing/router.tsx';
import { addressOf, SETTINGS_SECTIONS, type SettingsSection } from '../routing/routes.ts';
import { Header } from '../ui/header.tsx';
import { Account } from './account.tsx';
import { Preferences } from './preferences.tsx';
import { Profile } from './profile.tsx';
import './settings.css';

const SECTIONS = {
  profile: { title: 'Profile', Shown: Profile },
  account: { title: 'Account', Shown: Account },
  preferences: { title: 'Preferences', Shown: Preferences },
} as const;

/** View of the viewer's settings. Changes are saved immediately, except in forms that have a button. */
export function SettingsView({ section, menu }: { readonly section: SettingsSection; readonly menu: ReactNode }) {
  const { title, Shown } = SECTIONS[section];
  return (
    <>
      <Header menu={menu} title="Settings" />
      <div className="page" data-section>
        <nav className="tabs" aria-label="Settings">
          {SETTINGS_SECTIONS.map((name) => (
            <Link key={name} className="tab" to={addressOf({ name: 'settings', section: name })}>
              {SECTIONS[name].title}
            </Link>
          ))}
        </nav>
        <section className="page-section" aria-labelledby="settings-title">
          <h2 id="settings-title">{title}</h2>
          <Shown />
        </section>
      </div>
    </>
  );
}
