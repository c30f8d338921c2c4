/** The version of this command line: that of the package. */
import manifest from '../../../package.json' with { type: 'json' }

export const VERSION: string = manifest.version
