// Sets the seed of all property tests: the same in each run of `npm test`, a new one in each `npm run proof`.
import fc from 'fast-check';
import { seed } from './exploration.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
