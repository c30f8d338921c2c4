/** Where this program's files are, whether it runs from its sources or from what was built of them (start/build.ts). */
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json, prisma/ and so on: absolute. */
export const CHECKOUT = above(path.dirname(fileURLToPath(import.meta.url)))

function above(folder: string): string {
  return fs.existsSync(path.join(folder, 'package.json')) ? folder : above(path.dirname(folder))
}
