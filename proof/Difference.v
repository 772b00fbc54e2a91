(** Comparisons: a row of cells "=" which flows up. Differences, also below zero: the same row, then a row of cells "-"
    which flows down. *)

From Coq Require Import FMapPositive.
From Digitwise Require Export Follows.

(** The wiring: both cells at place p see a_p b_p. The cell of the first row hears the one at place p - 1, that of the
    second the one at place p + 1 and the one at place p of the first row. A difference, from place 0 up, is what the
    second row writes. A comparison has no second row: it is what the first row writes at the top place. *)
Definition first_row (a b : list ascii) : list (place N) :=
  map (fun xy => Place "="%char [fst xy; snd xy] None) (combine a b).

Definition second_row (a b : list ascii) (heard : list (option N)) : list (place N) :=
  rev (map (fun xyh => Place "-"%char [fst (fst xyh); snd (fst xyh)] (snd xyh)) (combine (combine a b) heard)).

Definition run_difference (t : table) (a b : list ascii) : option (list ascii) :=
  match row (cell t) None (first_row a b) with
  | None => None
  | Some r => option_map (fun r => rev (written r)) (row (cell t) None (second_row a b (map to_row r)))
  end.

Definition run_comparison (t : table) (a b : list ascii) : option ascii :=
  option_map (fun r => last (written r) pad) (row (cell t) None (first_row a b)).

Definition distance (a b : N) : N := if a <? b then b - a else a - b.

(** Place q of a difference a - b: the parts above, less 1 if the parts below borrow. *)
Lemma subtract_at a b q : b <= a ->
  let borrow := if a mod 10 ^ N.of_nat q <? b mod 10 ^ N.of_nat q then 1 else 0 in
  shifted b q + borrow <= shifted a q /\ shifted (a - b) q = shifted a q - shifted b q - borrow.
Proof.
  intros L. unfold shifted. set (X := 10 ^ N.of_nat q).
  assert (X <> 0) as NZ by (apply N.pow_nonzero; easy).
  pose proof (N.div_mod a X NZ) as Ea. pose proof (N.div_mod b X NZ) as Eb.
  pose proof (N.mod_lt a X NZ) as La. pose proof (N.mod_lt b X NZ) as Lb.
  generalize dependent (a / X). generalize dependent (a mod X). intros la La A Ea.
  generalize dependent (b / X). generalize dependent (b mod X). intros lb Lb B Eb. cbv zeta.
  set (borrow := if la <? lb then 1 else 0).
  assert (B + borrow <= A) as M.
  { unfold borrow. destruct (N.ltb_spec la lb); nia. }
  split; [exact M|]. symmetry. apply N.div_unique with (la + X * borrow - lb).
  - unfold borrow. destruct (N.ltb_spec la lb); lia.
  - assert (exists k, A = B + borrow + k) as [k ->] by (exists (A - B - borrow); lia).
    replace (B + borrow + k - B - borrow) with k by lia.
    unfold borrow in *. destruct (N.ltb_spec la lb); nia.
Qed.

Module Difference.
  (** * The plan of the first row: how the parts of the numbers below this place compare, and their phases *)

  Definition state : Type := comparison * phase * phase.

  Definition state_eq (a b : state) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  (** What a higher digit makes of a comparison. *)
  Definition compare_with (x y : N) (low : comparison) : comparison :=
    match x ?= y with Eq => low | c => c end.

  (** What the first row writes matters at the top place only, which is empty in both numbers: how the parts below it
      compare. Any place that is empty in both may be the top. *)
  Definition compared_symbol (c : comparison) : ascii := match c with Lt => "<" | Eq => "=" | Gt => ">" end.

  Definition reads (x y : ascii) (low : comparison) : option ascii :=
    if Ascii.eqb x pad && Ascii.eqb y pad then Some (compared_symbol low) else None.

  Definition plan (s : state) (p : place Empty_set) : option (doing (S := state) (T := Empty_set)) :=
    let '(low, fa, fb) := s in
    match Ascii.eqb (stands p) "=", sees p with
    | true, [x; y] =>
        match after fa x, after fb y with
        | Some fa', Some fb' => Some (Do (compare_with (count x) (count y) low, fa', fb') (reads x y low) None)
        | _, _ => None
        end
    | _, _ => None
    end.

  Definition shapes (_ : state) : list (ascii * list ascii) :=
    flat_map (fun x => map (fun y => ("="%char, [x; y])) symbols) symbols.

  Definition compared_key (c : comparison) : N := match c with Eq => 0 | Lt => 1 | Gt => 2 end.

  Definition key (s : state) : N :=
    let '(low, fa, fb) := s in mix (mix (compared_key low) (phase_key fa)) (phase_key fb).

  Definition start : state := (Eq, First, First).

  Lemma shapes_are_all s p d : plan s p = Some d -> In (stands p, sees p) (shapes s).
  Proof.
    destruct s as [[low fa] fb]. unfold plan.
    destruct (Ascii.eqb_spec (stands p) "=") as [->|]; [|easy].
    destruct (sees p) as [|x [|y []]]; try easy.
    destruct (after fa x) as [|] eqn:X; [|easy]. destruct (after fb y) as [|] eqn:Y; [|easy]. intros _.
    apply in_flat_map. exists x. split; [eapply after_is_symbol; exact X|].
    apply (in_map (fun y => ("="%char, [x; y]))). eapply after_is_symbol. exact Y.
  Qed.

  (** * The second row goes the ways of the first row back

      A border lies between two places. The first row crosses it upwards with a code and a state. A way is a step of the
      first row from one border to the next, with what is seen and what the second row is told. *)

  Definition up : Type := option N * state.
  Record way := Way { way_from : up; way_sees : list ascii; way_says : option N; way_to : up }.

  (** At a border, the second row has: what the first row had there, the code it says itself, how the whole numbers
      compare, and whether all digits of the difference above the border are 0. *)
  Definition border : Type := up * option N * comparison * bool.

  Definition up_eq : forall a b : up, {a = b} + {a <> b} := pair_eq state_eq.

  Definition border_eq (a b : border) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  Definition up_key : up -> positive := pair_key key.
  Definition way_key (w : way) : positive := up_key (way_to w).

  Definition border_key (x : border) : positive :=
    let '(u, code, sign, z) := x in
    N.succ_pos (mix (mix (mix (N.pos (up_key u)) (number_of_code code)) (compared_key sign)) (N.b2n z)).

  (** The digit of the difference, from both digits and what is borrowed. *)
  Definition digit_of (sign low : comparison) (x y : N) : N :=
    match sign with
    | Lt => (10 + y - x - match low with Gt => 1 | _ => 0 end) mod 10
    | _ => (10 + x - y - match low with Lt => 1 | _ => 0 end) mod 10
    end.

  Definition way_digit (sign : comparison) (w : way) : N :=
    match way_sees w, way_from w with
    | [x; y], (_, (low, _, _)) => digit_of sign low (count x) (count y)
    | _, _ => 0
    end.

  Definition way_lowest (w : way) : bool := let '(_, (_, fa, _)) := way_from w in is_first fa.
  Definition way_below (w : way) : comparison := let '(_, (low, _, _)) := way_from w in low.

  (** The right symbols of the second row: the sign at the top place; below it digits, without leading zeros (at the
      lowest place or not, with zeros only above or not, and this digit of the difference). *)
  Definition sign_symbol (c : comparison) : ascii := match c with Lt => "-" | _ => pad end.
  Definition digit_symbol (low z : bool) (d : N) : ascii := if negb low && (z && (d =? 0)) then pad else digit d.

  (** A step of the second row: the situation, the right symbol, and the next border but for the code. *)
  Definition step : Type := situation * ascii * (option N -> border).

  (** Below a border, and at the top place, where both numbers have a pad. *)
  Definition step_down (x : border) (w : way) : step :=
    let '(_, code, sign, z) := x in
    let d := way_digit sign w in
    (Situation "-" (way_sees w) code (way_says w), digit_symbol (way_lowest w) z d,
     fun c => (way_from w, c, sign, z && (d =? 0))).

  Definition step_top (w : way) : step :=
    (Situation "-" (way_sees w) None (way_says w), sign_symbol (way_below w),
     fun c => (way_from w, c, way_below w, true)).

  Definition at_top (w : way) : bool := if list_eq_dec ascii_dec (way_sees w) [pad; pad] then true else false.

  Definition ways_to (into : PositiveMap.t (list way)) (x : border) : list way :=
    let '(u, _, _, _) := x in
    filter (fun w => if up_eq (way_to w) u then true else false) (at_key into (up_key u)).

  Definition ways (f : situation -> option said) (ups : list up) : list way :=
    flat_map (fun u => flat_map (fun m => match f (fst m) with
      | None => []
      | Some a => [Way u (seen (fst m)) (to_row a) (to_next a, next (snd m))]
      end) (moves plan shapes [] u)) ups.

  Definition lead (f : situation -> option said) (s : step) : list border :=
    let '(x, _, b) := s in match f x with None => [] | Some a => [b (to_next a)] end.

  Definition right_step (f : situation -> option said) (borders : PositiveMap.t (list border)) (s : step) : bool :=
    let '(x, c, b) := s in
    match f x with
    | None => false
    | Some a => Ascii.eqb (symbol a) c && among border_key border_eq borders (b (to_next a))
    end.

  Definition wrong_steps f borders (l : list step) : list situation :=
    map (fun s => fst (fst s)) (filter (fun s => negb (right_step f borders s)) l).

  Definition wrong_down (t : table) (ups : list up) : list situation :=
    let f := find_cell (index line_key t) in
    let all := ways f ups in
    let into := index way_key all in
    let tops := map step_top (filter at_top all) in
    let borders := closure border_key border_eq (fun x => flat_map (fun w => lead f (step_down x w)) (ways_to into x))
      (flat_map (lead f) tops) in
    let b := index border_key borders in
    wrong_steps f b tops ++ flat_map (fun x => wrong_steps f b (map (step_down x) (ways_to into x))) borders.

  (** Situations in which the table does not do what it should; to be computed for a given table. *)
  Definition wrong (t : table) : list situation :=
    let (ups, rows) := invariant state_eq no_meaning key plan shapes [start] t in
    wrong_in state_eq no_meaning key plan shapes t ups rows ++ wrong_down t ups.

  (** * What the check means *)

  Section Sound.
    Variables (t : table) (ups : list up) (rows : list (N * Empty_set)).
    Hypothesis up_right : wrong_in state_eq no_meaning key plan shapes t ups rows = [].
    Hypothesis start_up : In (None, start) ups.
    Hypothesis down_right : wrong_down t ups = [].

    Let is_way (w : way) : Prop := In w (ways (cell t) ups).

    Lemma ways_same f g l : (forall s, f s = g s) -> ways f l = ways g l.
    Proof.
      intros E. unfold ways. induction l as [|u l IH]; [reflexivity|]. cbn [flat_map]. rewrite IH. f_equal.
      induction (moves plan shapes [] u) as [|m ms IH']; [reflexivity|]. cbn [flat_map]. now rewrite IH', E.
    Qed.

    Lemma no_wrong_steps b l s : wrong_steps (find_cell (index line_key t)) b l = [] -> In s l ->
      right_step (cell t) b s = true.
    Proof.
      intros H I. destruct (right_step (cell t) b s) eqn:E; [reflexivity|exfalso].
      assert (right_step (find_cell (index line_key t)) b s = false) as E'.
      { rewrite <- E. destruct s as [[x c] k]. cbn. now rewrite find_cell_is_cell. }
      assert (In (fst (fst s)) []) as F; [|easy]. rewrite <- H. unfold wrong_steps.
      apply (in_map (fun s => fst (fst s))), filter_In. split; [exact I|now rewrite E'].
    Qed.

    (** There is a set of borders that the second row enters at the top and does not leave. *)
    Lemma borders_exist : exists borders : list border,
      (forall w, is_way w -> way_sees w = [pad; pad] -> right_step (cell t) (index border_key borders) (step_top w) = true)
      /\ (forall x w, is_way w -> In x borders -> way_to w = fst (fst (fst x)) ->
           right_step (cell t) (index border_key borders) (step_down x w) = true).
    Proof.
      revert down_right. unfold wrong_down. cbv zeta.
      set (tops := map step_top _). set (borders := closure _ _ _ _).
      intros H. apply app_eq_nil in H as [H1 H2]. exists borders.
      assert (forall w, is_way w -> In w (ways (find_cell (index line_key t)) ups)) as I.
      { intros w W. rewrite (ways_same _ (cell t)); [exact W|apply find_cell_is_cell]. }
      split.
      - intros w W E. apply (no_wrong_steps _ tops); [exact H1|]. apply in_map, filter_In. split; [auto|].
        unfold at_top. now destruct (list_eq_dec _ _ _).
      - intros [[[u code] sign] z] w W X E. cbn [fst] in E.
        apply (no_wrong_steps _ (map (step_down (u, code, sign, z))
          (ways_to (index way_key (ways (find_cell (index line_key t)) ups)) (u, code, sign, z)))).
        + apply (flat_map_nil _ _ H2 _ X).
        + apply in_map. unfold ways_to. apply filter_In. split.
          * rewrite at_index. apply filter_In. split; [auto|]. unfold way_key. rewrite E. apply Pos.eqb_refl.
          * rewrite E. now destruct (up_eq u u).
    Qed.

    (** Two numbers; [up_at q]: the first row at the border below place q. *)
    Variables (a b : N).

    Definition sees_at (q : nat) : list ascii := [symbol_at (lowest q) (shifted a q); symbol_at (lowest q) (shifted b q)].
    Definition low_at (q : nat) : comparison := (a mod 10 ^ N.of_nat q) ?= (b mod 10 ^ N.of_nat q).
    Definition state_at (q : nat) : state := (low_at q, phase_at a q, phase_at b q).

    Fixpoint up_at (q : nat) : up :=
      match q with
      | O => (None, start)
      | S q => match cell t (Situation "=" (sees_at q) (fst (up_at q)) None) with
               | Some s => (to_next s, state_at (S q))
               | None => (None, start)
               end
      end.

    Lemma low_at_succ q : low_at (S q) = compare_with (shifted a q mod 10) (shifted b q mod 10) (low_at q).
    Proof.
      assert (10 ^ N.of_nat q <> 0) as NZ by (apply N.pow_nonzero; easy).
      unfold low_at, shifted. rewrite pow_succ, (N.mul_comm 10), !N.mod_mul_r by easy.
      pose proof (N.mod_lt a _ NZ). pose proof (N.mod_lt b _ NZ).
      unfold compare_with. set (X := 10 ^ N.of_nat q) in *.
      set (x := (a / X) mod 10). set (y := (b / X) mod 10).
      generalize dependent (a mod X). generalize dependent (b mod X). intros lb Hb la Ha.
      destruct (N.compare_spec x y) as [->|L|L].
      - destruct (N.compare_spec la lb); [apply N.compare_eq_iff|apply N.compare_lt_iff|apply N.compare_gt_iff]; lia.
      - apply N.compare_lt_iff. nia.
      - apply N.compare_gt_iff. nia.
    Qed.

    Definition reads_at (q : nat) : option ascii :=
      reads (symbol_at (lowest q) (shifted a q)) (symbol_at (lowest q) (shifted b q)) (low_at q).

    Lemma plan_at q : plan (state_at q) (Place "="%char (sees_at q) None) = Some (Do (state_at (S q)) (reads_at q) None).
    Proof.
      unfold plan, state_at, sees_at. cbn [stands sees]. rewrite Ascii.eqb_refl.
      rewrite !after_phase_at, low_at_succ, !count_symbol_at. reflexivity.
    Qed.

    Lemma up_at_right q : In (up_at q) ups /\ snd (up_at q) = state_at q.
    Proof.
      induction q as [|q [IH1 IH2]].
      - split; [exact start_up|]. unfold state_at, low_at. cbn [up_at snd phase_at]. now rewrite !N.mod_1_r.
      - destruct (up_at q) as [heard s] eqn:U. cbn [snd] in IH2. subst s.
        destruct (one_step _ _ _ _ _ shapes_are_all _ _ _ up_right heard (state_at q) (Place "="%char (sees_at q) None)
          (Place "="%char (sees_at q) None) _ IH1 ltac:(now repeat split) (plan_at q)) as (s & C & _ & I).
        cbn [stands sees hears next] in C, I. cbn [up_at]. rewrite U. cbn [fst]. rewrite C. now split.
    Qed.

    (** At each place the first row goes a way, and writes what is read there. *)
    Lemma way_at q : exists s, cell t (Situation "=" (sees_at q) (fst (up_at q)) None) = Some s
      /\ up_at (S q) = (to_next s, state_at (S q)) /\ is_way (Way (up_at q) (sees_at q) (to_row s) (up_at (S q)))
      /\ forall c, reads_at q = Some c -> symbol s = c.
    Proof.
      destruct (up_at_right q) as [I E]. destruct (up_at q) as [heard st] eqn:U. cbn [snd] in E. subst st.
      destruct (one_step _ _ _ _ _ shapes_are_all _ _ _ up_right heard (state_at q) (Place "="%char (sees_at q) None)
        (Place "="%char (sees_at q) None) _ I ltac:(now repeat split) (plan_at q)) as (s & C & [D _] & _).
      cbn [stands sees hears] in C. exists s. cbn [fst]. split; [exact C|].
      assert (up_at (S q) = (to_next s, state_at (S q))) as E by (cbn [up_at]; rewrite U; cbn [fst]; now rewrite C).
      split; [exact E|]. split; [|exact D]. rewrite E. unfold is_way, ways. apply in_flat_map. exists (heard, state_at q). split; [exact I|].
      apply in_flat_map. exists (Situation "=" (sees_at q) heard None, Do (state_at (S q)) (reads_at q) None). split.
      - apply (in_moves _ _ shapes_are_all [] heard (state_at q) (Place "="%char (sees_at q) None)
          (Place "="%char (sees_at q) None)); [now repeat split|apply plan_at].
      - cbn [fst snd seen next]. rewrite C. now left.
    Qed.

    Definition said_at (q : nat) : said :=
      match cell t (Situation "=" (sees_at q) (fst (up_at q)) None) with Some s => s | None => Said pad None None end.

    Lemma row_up n : forall q,
      row (cell t) (fst (up_at q)) (map (fun q => Place "="%char (sees_at q) None) (seq q n)) = Some (map said_at (seq q n)).
    Proof.
      induction n as [|n IH]; intros q; [reflexivity|]. cbn [seq map row stands sees hears].
      destruct (way_at q) as (s & C & E & _ & _). unfold said_at at 1. rewrite C.
      specialize (IH (S q)). rewrite E in IH. cbn [fst] in IH. now rewrite IH.
    Qed.

    Lemma first_row_is P : first_row (word P a) (word P b) = map (fun q => Place "="%char (sees_at q) None) (seq 0 P).
    Proof. unfold first_row. now rewrite !word_places, combine_maps, map_map. Qed.

    Lemma row_up_from_start P : row (cell t) None (first_row (word P a) (word P b)) = Some (map said_at (seq 0 P)).
    Proof. rewrite first_row_is. apply (row_up P 0). Qed.

    (** With room, the top place is empty, and the whole numbers lie below it. *)
    Lemma empty_top p : (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
      sees_at p = [pad; pad] /\ low_at p = (a ?= b).
    Proof.
      intros Hp La Lb. unfold sees_at, shifted, low_at. rewrite !N.div_small, !N.mod_small by assumption.
      destruct p; [lia|easy].
    Qed.

    Lemma first_row_compares p : (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
      run_comparison t (word (S p) a) (word (S p) b) = Some (compared_symbol (a ?= b)).
    Proof.
      intros Hp La Lb. unfold run_comparison. rewrite row_up_from_start, seq_S. cbn [option_map Nat.add]. f_equal.
      unfold written. rewrite !map_app. cbn [map]. rewrite last_last.
      destruct (way_at p) as (s & C & _ & _ & R). unfold said_at. rewrite C. apply R.
      destruct (empty_top p Hp La Lb) as [E L]. unfold sees_at in E. injection E as E1 E2.
      unfold reads_at, reads. now rewrite E1, E2, L.
    Qed.

    (** The second row goes back from any border with what is true there. *)
    Definition difference_at (q : nat) : N := shifted (distance a b) q.

    Definition answer_at (q : nat) : ascii :=
      digit_symbol (lowest q) (difference_at (S q) =? 0) (difference_at q mod 10).

    Definition place_down (q : nat) : place N := Place "-"%char (sees_at q) (to_row (said_at q)).

    Lemma digit_right q :
      digit_of (a ?= b) (low_at q) (shifted a q mod 10) (shifted b q mod 10) = difference_at q mod 10.
    Proof.
      unfold difference_at, distance, digit_of, low_at. destruct (N.ltb_spec a b) as [L|L].
      - rewrite (proj2 (N.compare_lt_iff a b) L). destruct (subtract_at b a q ltac:(lia)) as [M ->].
        rewrite (N.compare_antisym (b mod _)). unfold N.ltb in *. destruct (_ ?= _); cbn [CompOpp]; lia.
      - destruct (subtract_at a b q L) as [M ->]. unfold N.ltb in *.
        destruct (N.compare_spec a b); [|lia|]; destruct (_ ?= _); lia.
    Qed.

    Lemma zeros_right q : (difference_at (S q) =? 0) && (difference_at q mod 10 =? 0) = (difference_at q =? 0).
    Proof.
      unfold difference_at. rewrite shifted_down. generalize (shifted (distance a b) q). intros n.
      destruct (N.eqb_spec (n / 10) 0), (N.eqb_spec (n mod 10) 0), (N.eqb_spec n 0); cbn [andb]; try reflexivity; lia.
    Qed.

    (** What a way of the first row says of the numbers. *)
    Lemma way_right q says : let w := Way (up_at q) (sees_at q) says (up_at (S q)) in
      way_lowest w = lowest q /\ way_below w = low_at q /\ way_digit (a ?= b) w = difference_at q mod 10.
    Proof.
      cbv zeta. unfold way_lowest, way_below, way_digit, sees_at. cbn [way_from way_sees].
      destruct (up_at_right q) as [_ E]. destruct (up_at q) as [h st]. cbn [snd] in E. subst st. unfold state_at.
      rewrite !count_symbol_at, digit_right. destruct (phase_at_right a q) as (_ & F & _). auto.
    Qed.

    Section Borders.
      Variable borders : list border.
      Hypothesis right_top : forall w, is_way w -> way_sees w = [pad; pad] ->
        right_step (cell t) (index border_key borders) (step_top w) = true.
      Hypothesis right_down : forall x w, is_way w -> In x borders -> way_to w = fst (fst (fst x)) ->
        right_step (cell t) (index border_key borders) (step_down x w) = true.

      (** A right step, spelled out. *)
      Lemma right_step_is x c k : right_step (cell t) (index border_key borders) (x, c, k) = true ->
        exists s, cell t x = Some s /\ symbol s = c /\ In (k (to_next s)) borders.
      Proof.
        unfold right_step. destruct (cell t x) as [s|]; [|easy]. intros H. apply andb_prop in H as [H1 H2].
        exists s. split; [reflexivity|]. split; [now apply Ascii.eqb_eq|now apply among_index in H2].
      Qed.

      Lemma row_down P : forall code, In (up_at P, code, a ?= b, difference_at P =? 0) borders ->
        exists r, row (cell t) code (map place_down (down P)) = Some r /\ written r = map answer_at (down P).
      Proof.
        induction P as [|P IH]; intros code B; [now exists []|].
        destruct (way_at P) as (s & C & _ & W & _).
        pose proof (right_down _ _ W B eq_refl) as R. unfold step_down in R.
        destruct (way_right P (to_row s)) as (E1 & _ & E2). rewrite E1, E2, zeros_right in R.
        cbn [way_sees way_says way_from] in R.
        apply right_step_is in R as (s' & C' & Y & B'). destruct (IH _ B') as (r & R & Wr).
        exists (s' :: r). rewrite down_succ. cbn [map row place_down stands sees hears].
        replace (said_at P) with s by (unfold said_at; now rewrite C).
        rewrite C', R. split; [reflexivity|]. unfold written in *. cbn [map]. now rewrite Y, Wr.
      Qed.

      Lemma two_rows p : (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
        run_difference t (word (S p) a) (word (S p) b) = Some (map answer_at (seq 0 p) ++ [sign_symbol (a ?= b)]).
      Proof.
        intros Hp La Lb. unfold run_difference. rewrite row_up_from_start.
        assert (second_row (word (S p) a) (word (S p) b) (map to_row (map said_at (seq 0 (S p))))
          = map place_down (down (S p))) as ->.
        { unfold second_row, down. rewrite !word_places, map_map, !combine_maps, map_map, map_rev. reflexivity. }
        destruct (empty_top p Hp La Lb) as [Sp Lw].
        destruct (way_at p) as (s & C & _ & W & _).
        pose proof (right_top _ W Sp) as R. unfold step_top in R.
        destruct (way_right p (to_row s)) as (_ & E & _). rewrite E in R. cbn [way_sees way_says way_from] in R.
        apply right_step_is in R as (s' & C' & Y & B').
        assert (difference_at p =? 0 = true) as Z.
        { apply N.eqb_eq, N.div_small. unfold distance. destruct (a <? b); lia. }
        destruct (row_down p (to_next s')) as (r & R & Wr).
        { rewrite Z, <- Lw. exact B'. }
        rewrite down_succ. cbn [map row place_down stands sees hears].
        replace (said_at p) with s by (unfold said_at; now rewrite C).
        rewrite C', R. cbn [option_map]. f_equal. unfold written in *. cbn [map rev]. rewrite Wr, Y, Lw, <- map_rev.
        unfold down. now rewrite rev_involutive.
      Qed.
    End Borders.
  End Sound.

  Lemma rows_right t : wrong t = [] -> forall a b p,
    (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
    run_difference t (word (S p) a) (word (S p) b) = Some (map (answer_at a b) (seq 0 p) ++ [sign_symbol (a ?= b)])
    /\ run_comparison t (word (S p) a) (word (S p) b) = Some (compared_symbol (a ?= b)).
  Proof.
    unfold wrong, invariant. destruct (settle _ _ _ _ _ _ _ _ _) as [ups rows]. intros H.
    apply app_eq_nil in H as [H1 H2]. intros a b p Hp La Lb.
    destruct (borders_exist t _ H2) as (borders & B1 & B2).
    split; [eapply two_rows|eapply first_row_compares]; eauto; now left.
  Qed.
End Difference.

(** The theorems. If the check of a table finds nothing wrong, its two rows subtract any two numbers on more places than
    both have digits (at most p digits, and p is at least 1): the top place has the sign, the places below have the word
    of the distance of a and b. *)
Theorem difference_right t : Difference.wrong t = [] ->
  forall (a b : N) (p : nat), (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
  run_difference t (word (S p) a) (word (S p) b)
    = Some (word p (distance a b) ++ [if a <? b then "-"%char else pad]).
Proof.
  intros H a b p Hp La Lb. rewrite (proj1 (Difference.rows_right t H a b p Hp La Lb)). do 2 f_equal.
  - rewrite word_places. apply map_ext. intros q. unfold Difference.answer_at, Difference.digit_symbol.
    now rewrite Difference.zeros_right.
  - unfold Difference.sign_symbol, N.ltb. now destruct (a ?= b).
Qed.

(** And its first row alone compares them, on as many places: the symbol at the top is right. *)
Theorem comparison_right t : Difference.wrong t = [] ->
  forall (a b : N) (p : nat), (0 < p)%nat -> a < 10 ^ N.of_nat p -> b < 10 ^ N.of_nat p ->
  run_comparison t (word (S p) a) (word (S p) b)
    = Some (match a ?= b with Lt => "<"%char | Eq => "="%char | Gt => ">"%char end).
Proof. intros H a b p Hp La Lb. apply (Difference.rows_right t H a b p Hp La Lb). Qed.
