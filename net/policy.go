package net

import "yinshzero/rules"

// Where the policy head keeps the logit of each kind of Move: its plane. The cell is the grid index of a Point.
const (
	placePlane  = 0               // PlaceRing, at its Point
	ringPlane   = placePlane + 1  // RemoveRing, at its Point
	movePlane   = ringPlane + 1   // MoveRing, at the Point it leaves: six directions by nine distances
	rowPlane    = movePlane + 6*9 // RemoveRow, at its first Point: three axes
	passPlane   = rowPlane + 3    // Pass, at the centre; no other Move is legal beside it, so its logit decides nothing
	distances   = 9
	planesInUse = passPlane + 1 // at most PolicyPlanes
)

// policyIndex holds, for every Move, PolicyPlanes·cell + plane.
var policyIndex = func() (index [rules.NumMoves]uint16) {
	for m := range rules.Move(rules.NumMoves) {
		var plane int
		var at rules.Point
		switch m.Kind() {
		case rules.PlaceRing:
			plane, at = placePlane, m.Point()
		case rules.RemoveRing:
			plane, at = ringPlane, m.Point()
		case rules.MoveRing:
			at = m.From()
			dx, dy := m.To().Column()-at.Column(), m.To().Number()-at.Number()
			direction := 0 // along letters: 0 up, 1 down; along numbers: 2, 3; along both: 4, 5
			switch {
			case dx != 0 && dy != 0:
				direction = 4
			case dx != 0:
				direction = 2
			}
			if dx < 0 || dy < 0 {
				direction++
			}
			plane = movePlane + direction*distances + max(dx, -dx, dy, -dy) - 1
		case rules.RemoveRow:
			plane, at = rowPlane+int(m.Row().Axis()), m.Row().First()
		case rules.PassTurn:
			plane = passPlane
			at, _ = rules.PointAt(rules.MaxRadius, rules.MaxRadius+1)
		}
		index[m] = uint16(at.Grid()*PolicyPlanes + plane)
	}
	return index
}()

// PolicyIndex says where the policy head keeps m's logit: the plane, below PolicyPlanes, and the grid index of the cell
// (rules.Point.Grid). No two Moves share a place. m must be less than rules.NumMoves.
func PolicyIndex(m rules.Move) (plane, cell int) {
	i := int(policyIndex[m])
	return i % PolicyPlanes, i / PolicyPlanes
}
