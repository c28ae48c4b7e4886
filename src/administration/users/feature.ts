import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import {
  createUser,
  getOwnUser,
  getUser,
  getUserByEmail,
  listUsers,
  patchSettings,
  patchUser,
  patchUserByEmail,
} from './rest.ts';

export const users: Feature = {
  endpoints: [listUsers, getOwnUser, getUser, getUserByEmail, createUser, patchUser, patchUserByEmail],
};

export const ownSettings: Feature = {
  endpoints: [patchSettings],
};
