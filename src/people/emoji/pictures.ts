import type { App } from '../../access/context.ts';
import type { Web } from '../../api/rest/router.ts';
import { FOR_EVER, imageAnswer, noImage, organizationAt } from '../avatars/image-reply.ts';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/**
 * Adds routes for the images of custom emoji. These routes require no credentials, because image tags send none. Instead, the
 * id of an image cannot be guessed, and only users of the organization receive it.
 */
export function addCustomEmoji(web: Web, app: App): void {
  for (const form of ['bytes', 'reduced'] as const) {
    web.get(`/emoji/:image{${UUID}}${form === 'reduced' ? '/still' : ''}`, async ({ req }) => {
      const organization = await organizationAt(app, req.header('host'));
      const where = { id: req.param('image'), organizationId: organization?.id ?? 0, emoji: { some: {} } };
      const select = { mediaType: true, bytes: form === 'bytes', reduced: form === 'reduced' };
      const image = await app.db.image.findFirst({ where, select });
      const bytes = image?.[form];
      return image == null || bytes == null ? noImage() : imageAnswer({ mediaType: image.mediaType, bytes }, FOR_EVER);
    });
  }
}
