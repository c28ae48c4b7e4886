import { mutation } from '../../api/graphql/schema/mutation.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { User } from '../graphql.ts';
import { removeOwnAvatar, uploadOwnAvatar } from './service.ts';

mutation('setAvatar', {
  description: "Sets or removes the viewer's avatar. Without an avatar, the organization's default is shown.",
  errors: [BadImageError],
  input: (t) => ({
    image: t.field({
      type: 'File',
      required: false,
      description: 'PNG, JPEG, WebP or GIF, at most 5 MiB. Null removes the avatar.',
    }),
  }),
  payload: () => ({ user: { type: User, description: 'The viewer after the change.' } }),
  resolve: async (ctx, { image }) => ({
    user: image == null ? await removeOwnAvatar(ctx) : await uploadOwnAvatar(ctx, image),
  }),
});
