/** The version of this program. */
import fs from 'node:fs'
import path from 'node:path'
import { CHECKOUT } from './checkout.ts'

/** Of package.json. The API's document and `GET /v2/me` show it; listeners report it. */
export const VERSION: string = JSON.parse(fs.readFileSync(path.join(CHECKOUT, 'package.json'), 'utf8')).version
