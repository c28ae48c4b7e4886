import type { ComponentType } from 'react';
import type { AdministrationSection } from '../routing/routes.ts';
import { Bots } from './bots.tsx';
import { CustomEmoji } from './custom-emoji.tsx';
import { DefaultChannels } from './default-channels.tsx';
import { Domains } from './domains.tsx';
import { FolderList } from './folder-list.tsx';
import { OrganizationSettings } from './organization-settings.tsx';
import { People } from './people.tsx';
import { PermissionSettings } from './permission-settings.tsx';
import { ProfileFields } from './profile-fields.tsx';
import { Usage } from './usage.tsx';
import './administration.css';

const PAGES: Readonly<Record<AdministrationSection, ComponentType>> = {
  organization: OrganizationSettings,
  permissions: PermissionSettings,
  people: People,
  bots: Bots,
  emoji: CustomEmoji,
  'profile-fields': ProfileFields,
  domains: Domains,
  'default-channels': DefaultChannels,
  folders: FolderList,
  usage: Usage,
};

/** Content of a section of the settings that changes the organization. */
export function AdministrationPage({ section }: { readonly section: AdministrationSection }) {
  const Page = PAGES[section];
  return <Page />;
}
