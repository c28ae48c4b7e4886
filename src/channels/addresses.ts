import type { Ctx } from '../access/context.ts';
import type { Channel } from '../generated/prisma/client.ts';
import { channelSlug } from '../markdown/channel-links.ts';
import { urlOf } from '../platform/hosts.ts';

/**
 * Returns the URL fragment of a channel: `#narrow/channel/9-general`. Tildes are encoded, because they have a meaning in
 * Markdown.
 */
export const channelAddress = (channel: Pick<Channel, 'id' | 'name'>): string =>
  `#narrow/channel/${channelSlug(channel)}`.replaceAll('~', '.7E');

/**
 * Returns the absolute URL that opens a view of the web client in the viewer's organization.
 *
 * @param address URL fragment of the view.
 */
export const pageUrl = ({ app, viewer }: Pick<Ctx, 'app' | 'viewer'>, address: string): string =>
  `${urlOf(app.config, viewer.organization.subdomain)}/${address}`;
