// Every property test tries the cases of this seed: the same in each run of the gate, new ones in `npm run proof`.
import fc from 'fast-check';
import { seed } from './exploration.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
