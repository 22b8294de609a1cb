import manifest from '../../../package.json' with { type: 'json' };

/** The arguments that `npm start` gives to node. */
export const NODE_ARGUMENTS = / node (.+) src\/main\.ts$/.exec(manifest.scripts.start)?.[1]?.split(' ') ?? [];
