(** Sums of two numbers: one row of cells "+", which flows up. *)

From Digitwise Require Export Follows.

(** The wiring: the cell at place p sees the symbols a_p b_p, and hears the cell at place p - 1. *)
Definition sum_places (a b : list ascii) : list (place N) :=
  map (fun xy => Place "+"%char [fst xy; snd xy] None) (combine a b).

Definition run_sum (t : table) (a b : list ascii) : option (list ascii) :=
  option_map written (row (cell t) None (sum_places a b)).

(** * The plan: a carry, and the phases of both numbers *)

Module Sum.
  Definition state : Type := N * phase * phase.

  Definition state_eq (a b : state) : {a = b} + {a <> b}.
  Proof. repeat decide equality. Defined.

  (** The symbol of a sum: a pad where both numbers are over and nothing is carried. *)
  Definition symbol (x y : ascii) (total : N) : ascii :=
    if Ascii.eqb x pad && Ascii.eqb y pad && (total =? 0) then pad else digit (total mod 10).

  Definition plan (s : state) (p : place Empty_set) : option (doing (S := state) (T := Empty_set)) :=
    let '(carry, fa, fb) := s in
    match Ascii.eqb (stands p) "+", sees p with
    | true, [x; y] =>
        match after fa x, after fb y with
        | Some fa', Some fb' =>
            let total := count x + count y + carry in
            Some (Do (total / 10, fa', fb') (Some (symbol x y total)) None)
        | _, _ => None
        end
    | _, _ => None
    end.

  Definition shapes (_ : state) : list (ascii * list ascii) :=
    flat_map (fun x => map (fun y => ("+"%char, [x; y])) symbols) symbols.

  Definition key (s : state) : N := let '(carry, fa, fb) := s in mix (mix carry (phase_key fa)) (phase_key fb).

  Definition start : state := (0, First, First).

  (** Situations in which the table does not do what the plan does; to be computed for a given table. *)
  Definition wrong : table -> list situation := wrong state_eq no_meaning key plan shapes [start].

  Lemma shapes_are_all s p d : plan s p = Some d -> In (stands p, sees p) (shapes s).
  Proof.
    destruct s as [[carry fa] fb]. unfold plan.
    destruct (Ascii.eqb_spec (stands p) "+") as [->|]; [|easy].
    destruct (sees p) as [|x [|y []]]; try easy.
    destruct (after fa x) as [|] eqn:X; [|easy]. destruct (after fb y) as [|] eqn:Y; [|easy]. intros _.
    apply in_flat_map. exists x. split; [eapply after_is_symbol; exact X|].
    apply (in_map (fun y => ("+"%char, [x; y]))). eapply after_is_symbol. exact Y.
  Qed.

  Lemma symbol_right fa fb a b carry :
    holds fa a -> holds fb b -> is_first fa = is_first fb ->
    symbol (top fa a) (top fb b) (a mod 10 + b mod 10 + carry) = top fa (a + b + carry).
  Proof.
    intros Ha Hb E. unfold symbol. rewrite !top_is_pad, <- E. unfold top.
    replace ((a + b + carry) mod 10) with ((a mod 10 + b mod 10 + carry) mod 10) by lia.
    destruct (is_first fa); cbn [negb andb]; [reflexivity|].
    destruct (N.eqb_spec a 0), (N.eqb_spec b 0), (N.eqb_spec (a mod 10 + b mod 10 + carry) 0),
      (N.eqb_spec (a + b + carry) 0); cbn [andb]; try reflexivity; lia.
  Qed.

  Definition places (a b : list ascii) : list (place Empty_set) :=
    map (fun xy => Place "+"%char [fst xy; snd xy] None) (combine a b).

  (** The plan adds. *)
  Lemma plan_adds P : forall low carry fa fb a b,
    holds fa a -> holds fb b -> is_first fa = low -> is_first fb = low ->
    exists ds, planned plan (carry, fa, fb) (places (word_from low P a) (word_from low P b)) = Some ds
      /\ map writes ds = map Some (word_from low P (a + b + carry)).
  Proof.
    induction P as [|P IH]; intros low carry fa fb a b Ha Hb Fa Fb; [now exists []|].
    destruct (after_top fa a Ha) as (fa' & Aa & Ha' & Fa'), (after_top fb b Hb) as (fb' & Ab & Hb' & Fb').
    pose proof (symbol_right fa fb a b carry Ha Hb ltac:(congruence)) as E.
    pose proof (count_top fa a Ha) as Ca. pose proof (count_top fb b Hb) as Cb.
    destruct (IH false ((a mod 10 + b mod 10 + carry) / 10) fa' fb' (a / 10) (b / 10)) as (ds & D & W); auto.
    unfold top in *. rewrite Fa, Fb in *.
    eexists. cbn [word_from combine map places planned]. unfold plan at 1.
    cbn [stands sees fst snd]. rewrite Ascii.eqb_refl, Aa, Ab, Ca, Cb, E. cbn [next].
    unfold places in D. rewrite D. split; [reflexivity|].
    cbn [map writes]. f_equal. rewrite W. do 2 f_equal. lia.
  Qed.

  Lemma like_places rows a b : Forall2 (like rows) (sum_places a b) (places a b).
  Proof.
    unfold sum_places, places. induction (combine a b); constructor; [|assumption].
    repeat split.
  Qed.
End Sum.

(** The theorem. If the check of a table finds nothing wrong, its row of cells adds any two numbers on any places: what
    it writes is the word of their sum. *)
Theorem sum_right t : Sum.wrong t = [] ->
  forall (a b : N) (P : nat), run_sum t (word P a) (word P b) = Some (word P (a + b)).
Proof.
  intros H a b P. destruct (found _ _ _ _ _ _ _ H) as (pairs & rows & G & S).
  destruct (Sum.plan_adds P true 0 First First a b) as (ds & D & W); try easy.
  destruct (row_follows _ _ _ _ _ Sum.shapes_are_all _ _ _ _ G S _ _ _ _ (or_introl eq_refl)
    (Sum.like_places rows _ _) D) as (r & R & F).
  unfold run_sum, word. rewrite R. cbn [option_map]. f_equal. rewrite N.add_0_r in W.
  eapply does_written; eauto.
Qed.

(** The same over lists of digits, lowest first: with pads above the numbers, the answer is digits and then pads. *)
Corollary sum_right_on_digits t : Sum.wrong t = [] ->
  forall a b, are_digits a -> are_digits b -> no_leading_zero a -> no_leading_zero b ->
  forall P, (length a < P)%nat -> (length b < P)%nat ->
  exists c, are_digits c /\ no_leading_zero c /\ number c = number a + number b /\ (length c <= P)%nat /\
    run_sum t (map digit a ++ repeat pad (P - length a)) (map digit b ++ repeat pad (P - length b))
      = Some (map digit c ++ repeat pad (P - length c)).
Proof.
  intros H a b Da Db Za Zb P La Lb.
  destruct (digits_of_number (number a + number b)) as (c & Dc & Zc & E).
  exists c. repeat (split; [assumption|]).
  assert (length c <= P)%nat as Lc.
  { apply fits_length; auto; [lia|]. rewrite E.
    pose proof (number_below a Da) as Ba. pose proof (number_below b Db) as Bb.
    assert (forall n, (n < P)%nat -> 10 * 10 ^ N.of_nat n <= 10 ^ N.of_nat P) as M.
    { intros n L. rewrite <- pow_succ. apply N.pow_le_mono_r; lia. }
    pose proof (M _ La). pose proof (M _ Lb). lia. }
  split; [exact Lc|].
  rewrite <- !word_of_digits by assumption.
  replace (length a + (P - length a))%nat with P by lia. replace (length b + (P - length b))%nat with P by lia.
  replace (length c + (P - length c))%nat with P by lia.
  rewrite sum_right by assumption. now rewrite E.
Qed.
