/** What a case is. */
import type { How } from '../measure/compare.ts'
import type { Table } from '../measure/report.ts'
import type { Place } from '../place/place.ts'

export interface Case {
  /** by which it is asked for */
  id: string
  what: string
  /** `open`: where there are data, our server and the others; opened when it is first asked for */
  run(open: () => Promise<Place>, how: How): Promise<Table>
}
