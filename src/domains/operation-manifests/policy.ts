import type { Access } from '../../core/access.ts';
import { ADMINISTER_ORGANIZATION } from '../organizations/public.ts';

export const PUBLISH_OPERATIONS: Access = ADMINISTER_ORGANIZATION;
