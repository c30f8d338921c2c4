/** Which sources are images: these are pulled and run in containers, all others are built and run as processes. */
import type { Source } from '../../../generated/prisma/enums.ts'

export const isImage = (source: Source): boolean => source === 'external_container' || source === 'internal_container'
