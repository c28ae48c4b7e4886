import type { Organization } from '../generated/prisma/client.ts';

/** Path of the icon of an organization, a square image. */
export const ICON_URL = '/avatar/organization';

/** Returns the URL of an organization's icon. The URL of an uploaded icon changes with the image. */
export const iconUrl = ({ iconImageId, iconVersion }: Pick<Organization, 'iconImageId' | 'iconVersion'>): string =>
  iconImageId === null ? ICON_URL : `${ICON_URL}?v=${iconVersion}`;
