import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { postRender } from '../rest.ts';

export const sending: Feature = {
  endpoints: [postRender],
};
