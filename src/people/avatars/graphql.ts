import { mutation } from '../../api/graphql/mutation.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { User } from '../graphql.ts';
import { removeOwnAvatar, uploadOwnAvatar } from './service.ts';

mutation('setAvatar', {
  description: "Sets the viewer's image, or takes it away, so that they have the organization's default.",
  errors: [BadImageError],
  input: (t) => ({
    image: t.field({
      type: 'File',
      required: false,
      description: 'PNG, JPEG, WebP or GIF, of 5 MiB at most; null takes the image away.',
    }),
  }),
  payload: () => ({ user: { type: User, description: 'The viewer, after the change.' } }),
  resolve: async (ctx, { image }) => ({
    user: image == null ? await removeOwnAvatar(ctx) : await uploadOwnAvatar(ctx, image),
  }),
});
