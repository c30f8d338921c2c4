/** What a case is. */

import type { How } from '../measure/compare.ts'
import type { Table } from '../measure/report.ts'
import type { Place } from '../place/place.ts'

export interface Case {
  /** by which it is asked for */
  id: string
  what: string
  run(place: Place, how: How): Promise<Table>
}
