/** Finds the checkout, or the installed package, for code that runs from sources or from a build (start/build.ts). Its version. */
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Absolute path of the folder with package.json and prisma/. */
export const CHECKOUT = above(path.dirname(fileURLToPath(import.meta.url)))

function above(folder: string): string {
  return fs.existsSync(path.join(folder, 'package.json')) ? folder : above(path.dirname(folder))
}

/** Of package.json. The API's document and `GET /v2/me` show it; listeners report it. */
export const VERSION: string = JSON.parse(fs.readFileSync(path.join(CHECKOUT, 'package.json'), 'utf8')).version
